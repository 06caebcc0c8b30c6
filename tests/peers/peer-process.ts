/** A Python process that answers each command, a line, with a line of JSON. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

/**
 * glibc settings that make PyTorch faster on a CPU: huge pages, and freed blocks are kept instead of given back to the system,
 * which otherwise costs page faults in every step.
 */
export const tunedMalloc = {
  GLIBC_TUNABLES:
    'glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=4294967296',
};

export class PeerProcess {
  readonly #process: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  readonly #lastLines: string[] = [];

  constructor(python: string, args: readonly string[], environment: Record<string, string> = {}) {
    this.#process = spawn(python, args, {
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#answers = createInterface({ input: this.#process.stdout! })[Symbol.asyncIterator]();
    createInterface({ input: this.#process.stderr! }).on('line', (line) => {
      this.#lastLines.push(line);
      if (this.#lastLines.length > 20) this.#lastLines.shift();
    });
  }

  async ask<Answer>(command: string): Promise<Answer> {
    this.#process.stdin!.write(`${command}\n`);
    const answer: IteratorResult<string, unknown> = await this.#answers.next();
    if (answer.done) throw new Error(`the peer ended at "${command}":\n${this.#lastLines.join('\n')}`);
    return JSON.parse(answer.value) as Answer;
  }

  async seconds(command: string): Promise<number> {
    return (await this.ask<{ seconds: number }>(command)).seconds;
  }

  async peakBytes(): Promise<number> {
    return (await this.ask<{ peakBytes: number }>('memory')).peakBytes;
  }

  /** Ends the process. */
  async close(): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.on('exit', resolve));
    this.#process.kill('SIGKILL');
    await ended;
  }
}
