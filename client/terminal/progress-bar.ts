/** One line of progress for work measured in bytes: redrawn on a terminal, a line every tenth elsewhere. */
import { formatBytes } from '../render-plan.ts';
import type { Io } from './io.ts';

const width = 24;

export class ProgressBar {
  readonly #io: Io;
  readonly #title: string;
  #shown = -1;

  constructor(io: Io, title: string) {
    this.#io = io;
    this.#title = title;
  }

  show(done: number, total: number): void {
    const share = total === 0 ? 1 : done / total;
    const step = Math.floor(share * (this.#io.interactive ? 100 : 10));
    if (step === this.#shown) return;
    this.#shown = step;
    const bytes = `${formatBytes(done)} of ${formatBytes(total)}`;
    if (!this.#io.interactive) {
      this.#io.stderr.write(`${this.#title}: ${Math.round(share * 100)} % (${bytes})\n`);
      return;
    }
    const filled = Math.round(share * width);
    const bar = '█'.repeat(filled) + '░'.repeat(width - filled);
    this.#io.stderr.write(`\r${this.#title} ${bar} ${bytes}\u001b[K`);
  }

  end(): void {
    if (this.#io.interactive && this.#shown >= 0) this.#io.stderr.write('\n');
  }
}
