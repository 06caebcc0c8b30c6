/**
 * A program that was started for one episode: asked a line, it answers a line. It leads a process group of its own, carries its
 * labels in its environment variables, and stands in the register while it runs; whatever ends it ends the whole group.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { RekindleError } from '../../../core/errors.ts';
import { longestLine } from './wire.ts';

export interface ProgramLabels {
  run: string;
  /** Business key of the episode. */
  episode: string;
}

/** Where running programs are written down, so that those of a dead worker can be found and ended. */
export interface ProgramRegister {
  add(pid: number, labels: ProgramLabels): void;
  remove(pid: number): void;
}

/** A program whose input has been closed ends by itself within this time, in milliseconds, or is killed. */
const grace = 1000;
const stderrTail = 2000;

export class Program {
  /** Lines that it has written up to now. */
  lines = 0;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #name: string;
  readonly #ended: Promise<void>;
  /** Why it cannot be asked any more. */
  #end: RekindleError | undefined;
  #isStopping = false;
  #hasExited = false;
  #partial: string[] = [];
  #partialLength = 0;
  #unread: string[] = [];
  #reader: { resolve(line: string): void; reject(error: Error): void } | undefined;
  #stderr = '';

  constructor(command: readonly string[], labels: ProgramLabels, register: ProgramRegister) {
    const [file, ...args] = command;
    this.#name = `program ${JSON.stringify(command.join(' '))} of ${labels.episode}`;
    const env = {
      ...process.env,
      REKINDLE_RUN: labels.run,
      REKINDLE_EPISODE: labels.episode,
      REKINDLE_WORKER: String(process.pid),
    };
    this.#child = spawn(file!, args, { stdio: 'pipe', detached: true, env });
    const { pid, stdin, stdout, stderr } = this.#child;
    if (pid !== undefined) register.add(pid, labels);
    stdin.on('error', () => undefined); // its end is told by `close`
    stdout.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrTail);
    });
    this.#child.on('error', (error: NodeJS.ErrnoException) => this.#fail(this.#startFailure(error)));
    this.#child.on('exit', () => {
      this.#killGroup();
      this.#hasExited = true;
      // Its pipes may be held open by a descendant that left the group.
      setTimeout(() => [stdout, stderr].forEach((pipe) => pipe.destroy()), grace).unref();
    });
    this.#ended = new Promise((resolve) => {
      this.#child.on('close', (code, signal) => {
        if (pid !== undefined) register.remove(pid);
        const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
        this.#fail(this.#fault(`ended with ${how}`));
        resolve();
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whether it can be asked. */
  get isUsable(): boolean {
    return this.#end === undefined && !this.#isStopping;
  }

  /**
   * The line that answers a line. One question at a time. Throws EnvironmentError when the program has ended or does not answer
   * within `seconds`, after which it is killed; the signal's reason when that is aborted.
   */
  async ask(line: string, seconds: number, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    if (this.#unread.length > 0) throw this.#unasked();
    if (this.#end !== undefined) throw this.#end;
    const giveUp = (error: Error): void => {
      this.#reader?.reject(error);
      this.#isStopping = true;
      this.#killGroup();
    };
    const onAbort = (): void => giveUp(signal.reason as Error);
    const timer = setTimeout(
      () => giveUp(this.#fault(`gave no answer within ${seconds} s and was killed`)),
      seconds * 1000,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await new Promise<string>((resolve, reject) => {
        this.#reader = { resolve, reject };
        this.#child.stdin.write(line);
      });
    } finally {
      this.#reader = undefined;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Closes its input, lets it end by itself for a moment, then kills it. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#killGroup(), grace);
    await this.#ended;
    clearTimeout(timer);
  }

  #take(text: string): void {
    const [first, ...rest] = text.split('\n');
    this.#partial.push(first!);
    this.#partialLength += first!.length;
    for (const next of rest) {
      this.lines += 1;
      this.#unread.push(this.#partial.join(''));
      this.#partial = [next];
      this.#partialLength = next.length;
    }
    if (this.#partialLength > longestLine) {
      this.#fail(
        new RekindleError(
          'EnvironmentError',
          `line ${this.lines + 1} of the ${this.#name} is longer than ${longestLine} characters`,
          { hint: 'An observation is a text for the policy to read: keep it far shorter.', permanent: true },
        ),
      );
      this.#killGroup();
    }
    if (this.#reader !== undefined && this.#unread.length > 0) this.#reader.resolve(this.#unread.shift()!);
  }

  #fail(error: RekindleError): void {
    this.#end ??= error;
    this.#reader?.reject(this.#end);
  }

  #startFailure(error: NodeJS.ErrnoException): RekindleError {
    const permanent = ['ENOENT', 'EACCES', 'ENOEXEC'].includes(error.code ?? '');
    return new RekindleError('EnvironmentError', `the ${this.#name} cannot be started: ${error.message}`, {
      hint: 'environment.command names a program on the PATH of the workers, or a path that begins with ./ or /.',
      permanent,
      cause: error,
    });
  }

  #unasked(): RekindleError {
    const line = JSON.stringify(this.#unread[0]!.slice(0, 200));
    return new RekindleError(
      'EnvironmentError',
      `line ${this.lines - this.#unread.length + 1} of the ${this.#name} answers nothing that was asked: ${line}`,
      {
        hint: 'Write one line for each line that is read; other text belongs on standard error.',
        permanent: true,
      },
    );
  }

  #fault(what: string): RekindleError {
    const said = this.#stderr.trim();
    const tail =
      said === '' ? 'it wrote nothing to standard error' : `its standard error ends with:\n${said}`;
    return new RekindleError('EnvironmentError', `the ${this.#name} ${what}; ${tail}`);
  }

  #killGroup(): void {
    if (this.#child.pid === undefined || this.#hasExited) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
