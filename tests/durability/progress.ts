/** How far the faults are, on standard error: a bar on a terminal, a line for each run elsewhere. */
const width = 32;

export class Progress {
  readonly #total: number;
  #done = 0;
  #missed = 0;

  constructor(total: number) {
    this.#total = total;
  }

  advance(done: number, missed: number, what: string): void {
    this.#done += done;
    this.#missed += missed;
    const count = `${this.#done} of ${this.#total} faults${this.#missed > 0 ? `, ${this.#missed} missed` : ''}`;
    if (!process.stderr.isTTY) {
      process.stderr.write(`${count}: ${what}\n`);
      return;
    }
    const filled = Math.round((this.#done / this.#total) * width);
    const bar = '█'.repeat(filled) + '░'.repeat(width - filled);
    process.stderr.write(`\r${bar} ${count}: ${what}\u001b[K${this.#done === this.#total ? '\n' : ''}`);
  }
}
