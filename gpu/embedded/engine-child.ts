/**
 * One life of an engine's child process: its start, the calls in flight, and how it ended. A child that has calls to answer and does
 * nothing is killed.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { RekindleError } from '../../core/errors.ts';
import type { Completion, GenerationRequest, TokenDelta } from '../engine-port.ts';
import type { ServeRequest } from '../serving/start-serving.ts';
import type { EmbeddedEngineSettings } from './engine.ts';
import { watchForHang } from './hang-watch.ts';
import { fromSentError, type FromProcess, type PlainCall, type ToProcess } from './engine-protocol.ts';

export interface EngineChildOptions {
  /** Receives each line that the process prints; by default these are dropped. */
  onLog?: (line: string) => void;
  /** Node options of the child; by default those of this process. */
  execArgv?: string[];
  /** How long a child may do nothing while it has calls to answer; by default as long as it likes. */
  hangSeconds?: number;
  /** Asked before a child is started; what it throws, the call rejects with. */
  admit?: () => Admission;
  /** Told when the child has ended though nobody asked it to. */
  onLost?: (loss: EngineLoss) => void;
}

/** That an engine may start, for the time in which its process runs. */
export interface Admission {
  started(pid: number): void;
  ended(): void;
}

export interface EngineLoss {
  /** How the process ended. */
  how: string;
  /** It was killed for doing nothing. */
  hung: boolean;
  /** Calls that were lost with it. */
  inFlight: number;
}

interface Pending {
  op: string;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  onCompletions: (completions: Completion[]) => void;
  onTokens: (deltas: TokenDelta[]) => void;
  onListening: (port: number) => void;
}

/** How long a child that was asked to end may finish its native call. */
const GRACE_MS = 1_000;
const KEPT_LOG_LINES = 5;
/** A server that nobody asks anything does nothing, and rightly so. */
const SERVE = 'serve';

export class EngineChild {
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #ended: Promise<void>;
  readonly #lastLines: string[] = [];
  #nextId = 0;
  #ready = false;
  #alive = true;
  #ending = false;
  #messages = 0;
  /** Set before a child that does nothing is killed. */
  #hung: EngineLoss | undefined;
  readonly #onLost: (loss: EngineLoss) => void;

  constructor(settings: EmbeddedEngineSettings, options: EngineChildOptions) {
    const entry = new URL(`./engine-process${extname(import.meta.url)}`, import.meta.url);
    const admission = options.admit?.();
    this.#process = fork(fileURLToPath(entry), {
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: engineEnvironment(),
      execArgv: options.execArgv ?? process.execArgv,
    });
    if (this.#process.pid !== undefined) admission?.started(this.#process.pid);
    for (const stream of [this.#process.stdout!, this.#process.stderr!]) {
      createInterface({ input: stream }).on('line', (line) => {
        this.#lastLines.push(line);
        if (this.#lastLines.length > KEPT_LOG_LINES) this.#lastLines.shift();
        options.onLog?.(line);
      });
    }
    this.#onLost = options.onLost ?? (() => undefined);
    this.#process.on('message', (message: FromProcess) => this.#receive(message));
    const endWatch = this.#watch(options.hangSeconds);
    this.#ended = new Promise((resolve) => {
      this.#process.on('error', (error) => {
        this.#fail(`engine process: ${error.message}`);
        if (this.#process.pid !== undefined) return;
        admission?.ended();
        resolve();
      });
      // `close` comes after `exit`, when the last lines have been read.
      this.#process.on('close', (code, signal) => {
        this.#fail(`engine process exited (${signal === null ? `code ${code}` : `signal ${signal}`})`);
        resolve();
      });
      this.#process.on('exit', (code, signal) => {
        this.#alive = false;
        endWatch();
        admission?.ended();
        if (!this.#ending) {
          const how = signal === null ? `code ${code}` : `signal ${signal}`;
          this.#onLost(this.#hung ?? { how, hung: false, inFlight: this.#pending.size });
          return;
        }
        // Node 20 emits no `close` after a disconnect from this side.
        this.#fail('engine process was ended');
        resolve();
      });
    });
    this.#send({ type: 'open', settings });
  }

  get processId(): number | undefined {
    return this.#process.pid;
  }

  /** False from the moment that the process is known to have ended. */
  get alive(): boolean {
    return this.#alive && this.#process.connected;
  }

  call(name: PlainCall, args: unknown[]): Promise<unknown> {
    return this.#request(name, (id) => ({ type: 'call', id, name, args })).answer;
  }

  async generate(
    request: GenerationRequest,
    onCompletions: (completions: Completion[]) => void,
    signal?: AbortSignal,
    onTokens?: (deltas: TokenDelta[]) => void,
  ): Promise<void> {
    const streams = onTokens !== undefined;
    const { id, answer } = this.#request(
      'generate',
      (id) => ({ type: 'generate', id, request, streams }),
      streams ? { onCompletions, onTokens } : { onCompletions },
    );
    const abort = (): void => {
      this.#send({ type: 'abort', id });
      if (request.onAbort !== 'complete') this.#take(id)?.reject(signal?.reason);
    };
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await answer;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Serves until the signal is aborted and what was in flight then has ended. */
  async serve(
    request: ServeRequest,
    onListening: (port: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { id, answer } = this.#request(SERVE, (id) => ({ type: 'serve', id, request }), { onListening });
    const stop = (): void => this.#send({ type: 'abort', id });
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    try {
      await answer;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Lets the process end by itself, then kills it. */
  async end(): Promise<void> {
    this.#ending = true;
    if (this.#process.connected) this.#process.disconnect();
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), GRACE_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  /** Returns the function that ends the watch. */
  #watch(seconds: number | undefined): () => void {
    const { pid } = this.#process;
    if (seconds === undefined || pid === undefined) return () => undefined;
    const working = (): string[] =>
      [...this.#pending.values()].map(({ op }) => op).filter((op) => op !== SERVE);
    const watched = { pid, busy: () => working().length > 0, messages: () => this.#messages };
    return watchForHang(watched, seconds, () => {
      const ops = [...new Set(working())].join(', ');
      const how = `engine hung in ${ops} for ${seconds} s`;
      this.#hung = { how, hung: true, inFlight: this.#pending.size };
      this.#process.kill('SIGKILL');
      this.#fail(how);
    });
  }

  #request(
    op: string,
    message: (id: number) => ToProcess,
    listeners: Partial<Pick<Pending, 'onCompletions' | 'onTokens' | 'onListening'>> = {},
  ): { id: number; answer: Promise<unknown> } {
    const id = this.#nextId++;
    const answer = new Promise((resolve, reject) => {
      this.#pending.set(id, {
        op,
        resolve,
        reject,
        onCompletions: () => {},
        onTokens: () => {},
        onListening: () => {},
        ...listeners,
      });
    });
    this.#send(message(id));
    return { id, answer };
  }

  /** A message that cannot be sent needs no report of its own: the end of the process fails every pending call. */
  #send(message: ToProcess): void {
    if (this.#process.connected) this.#process.send(message, () => {});
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #receive(message: FromProcess): void {
    this.#messages += 1;
    switch (message.type) {
      case 'ready':
        this.#ready = true;
        break;
      case 'completions':
        this.#report(message.id, ({ onCompletions }) => onCompletions(message.completions));
        break;
      case 'tokens':
        this.#report(message.id, ({ onTokens }) => onTokens(message.deltas));
        break;
      case 'listening':
        this.#pending.get(message.id)?.onListening(message.port);
        break;
      case 'result':
        this.#take(message.id)?.resolve(message.value);
        break;
      case 'failure':
        this.#take(message.id)?.reject(fromSentError(message.error));
        break;
    }
  }

  /** A callback that throws fails its generation, which is then of no use to the child either. */
  #report(id: number, tell: (pending: Pending) => void): void {
    const pending = this.#pending.get(id);
    try {
      if (pending) tell(pending);
    } catch (error) {
      this.#send({ type: 'abort', id });
      this.#take(id)?.reject(error);
    }
  }

  #fail(message: string): void {
    this.#alive = false;
    const details = this.#ready ? '' : ` before it was ready: ${this.#lastLines.join(' | ')}`;
    const error = new RekindleError('EngineError', message + details, {
      hint: 'The next call starts another engine process; load the weights again before use.',
    });
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(error);
  }
}

/**
 * No telemetry; huge pages for large allocations, since without them first touches of memory cost more than the arithmetic; and
 * allocations of 1 MiB and more apart from others, so that what is freed goes back to the system.
 */
export function engineEnvironment(): NodeJS.ProcessEnv {
  const tunables = [
    process.env['GLIBC_TUNABLES'],
    'glibc.malloc.hugetlb=1',
    'glibc.malloc.mmap_threshold=1048576',
  ].filter(Boolean);
  return { ...process.env, ORT_DISABLE_TELEMETRY: '1', GLIBC_TUNABLES: tunables.join(':') };
}
