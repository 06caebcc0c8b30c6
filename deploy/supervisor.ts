/**
 * Keeps a set of processes alive: one that dies is started again, with growing waits while it keeps dying. Every start,
 * exit and restart is a line of the journal `.rekindle/supervisor.jsonl`.
 *
 * Only one supervisor may work in a home at a time; `claimHome` sees to that. Killed itself, a supervisor leaves its
 * processes running; the next one in the same home ends each of them or takes it over, when it starts that name.
 */
import { appendFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RekindleError } from '../core/errors.ts';
import { stateFolder } from './home.ts';
import { identify, isRunning, signalProcess, type ProcessIdentity } from './supervision/process-identity.ts';
import { ProcessRegister } from './supervision/process-register.ts';
import {
  defaultRestartPolicy,
  SupervisedProcess,
  type ProcessChange,
  type ProcessSpec,
  type RestartPolicy,
} from './supervision/supervised-process.ts';

export type { ProcessSpec, RestartPolicy } from './supervision/supervised-process.ts';

export interface ProcessStatus {
  name: string;
  /** Undefined while it is not running. */
  pid: number | undefined;
  restarts: number;
}

export type SupervisorEvent = { at: string; name: string } & ProcessChange;

export class Supervisor {
  readonly journalFile: string;
  readonly #policy: RestartPolicy;
  readonly #register: ProcessRegister;
  readonly #processes = new Map<string, SupervisedProcess>();
  readonly #listeners = new Set<(event: SupervisorEvent) => void>();

  /** `policy` overrides the default waits, in milliseconds. */
  constructor(home: string, policy: Partial<RestartPolicy> = {}) {
    const folder = stateFolder(home);
    this.journalFile = path.join(folder, 'supervisor.jsonl');
    this.#register = new ProcessRegister(folder);
    this.#policy = { ...defaultRestartPolicy, ...policy };
  }

  /** Calls `listener` on each event; returns the function that ends this. */
  subscribe(listener: (event: SupervisorEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A process of that name which a killed supervisor left running. */
  leftover(name: string): ProcessIdentity | undefined {
    return this.#register.leftovers().get(name);
  }

  /**
   * Starts a process and keeps it alive. A leftover of the same name is ended first, or with `takeOver` kept in its place.
   * Throws UsageError when the name is in use.
   */
  async start(spec: ProcessSpec, options: { takeOver?: boolean } = {}): Promise<void> {
    if (this.#processes.has(spec.name)) {
      throw new RekindleError('UsageError', `A process named "${spec.name}" is already supervised`);
    }
    const supervised = new SupervisedProcess(spec, this.#policy, (change) => this.#record(spec.name, change));
    this.#processes.set(spec.name, supervised);
    if (!options.takeOver) await this.endLeftover(spec.name);
    supervised.start(this.leftover(spec.name));
  }

  /** Ends a leftover; everything survives a SIGKILL by design, so it is given no grace. */
  async endLeftover(name: string): Promise<void> {
    const leftover = this.leftover(name);
    if (!leftover) return;
    signalProcess(leftover.pid, 'SIGKILL', 'group');
    while (isRunning(leftover)) await delay(20);
  }

  /** Ends every leftover but the named ones: processes that this supervisor will not start under their old names. */
  async endLeftovers(except: readonly string[] = []): Promise<void> {
    const names = [...this.#register.leftovers().keys()].filter((name) => !except.includes(name));
    await Promise.all(names.map((name) => this.endLeftover(name)));
  }

  status(): ProcessStatus[] {
    return [...this.#processes].map(([name, { pid, restarts }]) => ({ name, pid, restarts }));
  }

  /** Stops one process for good: SIGTERM, and SIGKILL after the grace period. */
  async stopProcess(name: string): Promise<void> {
    await this.#processes.get(name)?.stop();
    this.#processes.delete(name);
  }

  /** Stops the given processes, or all, together. */
  async stop(names: readonly string[] = [...this.#processes.keys()]): Promise<void> {
    await Promise.all(names.map((name) => this.stopProcess(name)));
  }

  /**
   * Puts a new instance in the place of a process that announces itself: before the old one ends, if they may overlap, and after it
   * otherwise. Throws UsageError when nothing of that name runs; TemporalError when the new instance is not ready in time, and then
   * the old one stays, if it could.
   */
  async replace(name: string, timeout = 120_000): Promise<void> {
    const old = this.#processes.get(name);
    if (old === undefined) throw new RekindleError('UsageError', `No process named "${name}" is supervised`);
    const leaving = `${name} (leaving)`;
    if (old.spec.overlaps) this.#rename(name, leaving);
    else await this.stopProcess(name);
    const ready = this.#readiness(name, timeout);
    await this.start(old.spec);
    if (await ready) {
      await this.stopProcess(leaving);
      return;
    }
    if (this.#processes.has(leaving)) {
      await this.stopProcess(name);
      this.#rename(leaving, name);
    }
    throw new RekindleError('TemporalError', `the new ${name} did not get ready`, {
      hint: `Its output is in ${old.spec.logFile}.`,
    });
  }

  #rename(from: string, to: string): void {
    this.#processes.set(to, this.#processes.get(from)!);
    this.#processes.delete(from);
    this.#register.rename(from, to);
  }

  /** Whether the next instance of that name gets ready in time, and before it is stopped. */
  #readiness(name: string, timeout: number): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (ready: boolean): void => {
        forget();
        clearTimeout(timer);
        resolve(ready);
      };
      const forget = this.subscribe((event) => {
        if (event.name !== name) return;
        if (event.event === 'ready' || event.event === 'stopped') settle(event.event === 'ready');
      });
      const timer = setTimeout(() => settle(false), timeout);
    });
  }

  #record(name: string, change: ProcessChange): void {
    const event: SupervisorEvent = { at: new Date().toISOString(), name, ...change };
    try {
      this.#write(event);
    } catch {
      // A full disk costs lines of the journal, not the processes.
    }
    for (const listener of this.#listeners) listener(event);
  }

  #write(event: SupervisorEvent): void {
    if (event.event === 'started') {
      const identity = identify(event.pid);
      if (identity) this.#register.record(event.name, identity);
    } else if (event.event === 'exited' && event.pid !== null) {
      this.#register.remove(event.pid);
    }
    mkdirSync(path.dirname(this.journalFile), { recursive: true });
    appendFileSync(this.journalFile, `${JSON.stringify(event)}\n`);
  }
}
