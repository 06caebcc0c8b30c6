/**
 * One child process that is kept alive.
 *
 * Invariants:
 * - At most one instance runs: the next starts only after the last one's whole process group has been ended.
 * - It leads its own process group, so a Ctrl-C in the terminal reaches it only through `stop`.
 * - After `stop` has resolved, nothing of it runs and nothing will be started again.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning, signalProcess, type ProcessIdentity } from './process-identity.ts';

export interface ProcessSpec {
  /** Unique within a supervisor. */
  name: string;
  command: string;
  args: readonly string[];
  /** Added to this process's environment. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** Standard output and error are appended here. */
  logFile: string;
  /** A Node program that sends `ready` over its channel when it is. */
  announces?: boolean;
  /** An instance may begin its work before the one that it replaces has ended. */
  overlaps?: boolean;
}

/** Times in milliseconds. */
export interface RestartPolicy {
  /** Wait before the first restart; doubles with each further one. */
  firstDelay: number;
  longestDelay: number;
  /** An instance that lived this long starts the waits over. */
  settledAfter: number;
  /** Time between SIGTERM and SIGKILL. */
  grace: number;
}

export const defaultRestartPolicy: RestartPolicy = {
  firstDelay: 200,
  longestDelay: 10_000,
  settledAfter: 30_000,
  grace: 14_000,
};

export type ProcessChange =
  | { event: 'started'; pid: number; adopted: boolean }
  | { event: 'ready'; pid: number }
  | { event: 'exited'; pid: number | null; code: number | null; signal: string | null; error?: string }
  | { event: 'restarting'; afterMs: number; restarts: number }
  | { event: 'stopped' };

export class SupervisedProcess {
  readonly spec: ProcessSpec;
  readonly #policy: RestartPolicy;
  readonly #report: (change: ProcessChange) => void;
  readonly #stopping = new AbortController();
  #pid: number | undefined;
  #restarts = 0;
  #finished: Promise<void> | undefined;

  constructor(spec: ProcessSpec, policy: RestartPolicy, report: (change: ProcessChange) => void) {
    this.spec = spec;
    this.#policy = policy;
    this.#report = report;
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Starts it and keeps it alive until `stop`. A running process that an earlier supervisor left is taken over. */
  start(leftover?: ProcessIdentity): void {
    this.#finished = this.#keepAlive(leftover);
  }

  /** SIGTERM, then SIGKILL after the grace period. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const pid = this.#pid;
    if (pid !== undefined) signalProcess(pid, 'SIGTERM', 'process');
    const force = setTimeout(() => {
      if (this.#pid !== undefined) signalProcess(this.#pid, 'SIGKILL', 'group');
    }, this.#policy.grace);
    await this.#finished;
    clearTimeout(force);
  }

  async #keepAlive(leftover?: ProcessIdentity): Promise<void> {
    let wait = this.#policy.firstDelay;
    let adoptable = leftover;
    while (!this.#stopping.signal.aborted) {
      const startedAt = Date.now();
      await (adoptable ? this.#adopt(adoptable) : this.#runOnce());
      adoptable = undefined;
      if (this.#stopping.signal.aborted) break;
      if (Date.now() - startedAt >= this.#policy.settledAfter) wait = this.#policy.firstDelay;
      this.#restarts += 1;
      this.#report({ event: 'restarting', afterMs: wait, restarts: this.#restarts });
      await delay(wait, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      wait = Math.min(wait * 2, this.#policy.longestDelay);
    }
    this.#report({ event: 'stopped' });
  }

  async #runOnce(): Promise<void> {
    let child: ChildProcess;
    try {
      child = this.#spawn();
    } catch (error) {
      this.#report({ event: 'exited', pid: null, code: null, signal: null, error: String(error) });
      return;
    }
    const ended = new Promise<ProcessChange>((resolve) => {
      child.once('error', (error) =>
        resolve({ event: 'exited', pid: null, code: null, signal: null, error: error.message }),
      );
      child.once('exit', (code, signal) =>
        resolve({ event: 'exited', pid: child.pid ?? null, code, signal }),
      );
    });
    const { pid } = child;
    child.once('message', () => this.#report({ event: 'ready', pid: pid! }));
    if (pid !== undefined) this.#began(pid, false);
    this.#ended(await ended);
  }

  /** The end of a process that is not our child shows only by looking. */
  async #adopt(identity: ProcessIdentity): Promise<void> {
    this.#began(identity.pid, true);
    while (isRunning(identity)) await delay(100);
    this.#ended({ event: 'exited', pid: identity.pid, code: null, signal: null });
  }

  #spawn(): ChildProcess {
    const { command, args, cwd, env, logFile, announces = false } = this.spec;
    mkdirSync(path.dirname(logFile), { recursive: true });
    const log = openSync(logFile, 'a');
    try {
      return spawn(command, args, {
        cwd,
        env: { ...process.env, ...env },
        stdio: ['ignore', log, log, ...(announces ? (['ipc'] as const) : [])],
        detached: true,
      });
    } finally {
      closeSync(log);
    }
  }

  #began(pid: number, adopted: boolean): void {
    this.#pid = pid;
    this.#report({ event: 'started', pid, adopted });
    // A stop that came while the process was being started found no pid to signal.
    if (this.#stopping.signal.aborted) signalProcess(pid, 'SIGTERM', 'process');
  }

  #ended(change: ProcessChange): void {
    // Grandchildren (an engine, say) must not outlive their parent: they would hold memory and locks.
    if (this.#pid !== undefined) signalProcess(this.#pid, 'SIGKILL', 'group');
    this.#pid = undefined;
    this.#report(change);
  }
}
