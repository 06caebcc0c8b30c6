/**
 * The engines of this process: one for each model shape that its runs need and, for adapters, each base that they add to. Many runs
 * begin with the same adapter, and an engine knows it by its own hash alone.
 *
 * An engine lives in a child process. When it dies, its client fails the calls in flight and starts another with the next call. One
 * that nobody has called for long is closed, and opened again by the next call, which must load weights first.
 */
import { RekindleError } from '../core/errors.ts';
import type { EngineSettings } from '../activities/services.ts';
import { EngineClient } from '../gpu/embedded/engine-client.ts';
import type { EngineLoss } from '../gpu/embedded/engine-child.ts';
import { aroundCalls } from '../gpu/around-calls.ts';
import type { Engine } from '../gpu/engine-port.ts';
import { lockDevice } from './device-lock.ts';
import { journaled } from './journaled-engine.ts';
import type { RunJournals } from './run-journals.ts';

/** Milliseconds. */
export const idleTimes = {
  /** An engine that was not called for this long is closed. */
  closed: 600_000,
  /** And for this long, if its device is wanted by another. */
  givesWay: 30_000,
  /** Time between two looks. */
  sweep: 30_000,
};

export type CreateEngine = (settings: EngineSettings, onLost: (loss: EngineLoss) => void) => Engine;

interface Kept {
  engine: Engine;
  settings: EngineSettings;
  /** The runs of the calls in flight. */
  callers: string[];
  lastCaller: string;
  lastCallAt: number;
  /** Resolved when others have made room on the device. */
  room: Promise<void>;
}

export class EngineKeeper {
  readonly #journals: RunJournals;
  readonly #create: CreateEngine;
  readonly #engines = new Map<string, Kept>();
  readonly #sweep: NodeJS.Timeout;
  #closed = false;

  /** `create` makes an engine for a shape: an embedded one by default. */
  constructor(journals: RunJournals, home: string, create: CreateEngine = embedded(home)) {
    this.#journals = journals;
    this.#create = create;
    this.#sweep = setInterval(() => void this.#closeIdle(idleTimes.closed), idleTimes.sweep);
    this.#sweep.unref();
  }

  get(settings: EngineSettings): Engine {
    const { run, base, ...shape } = settings;
    const key = JSON.stringify({ base, ...shape });
    const engine = aroundCalls(async (_, call) => {
      const kept = this.#keep(key, settings);
      kept.callers.push(run);
      kept.lastCaller = run;
      try {
        await kept.room;
        return await call(kept.engine);
      } finally {
        kept.callers.splice(kept.callers.indexOf(run), 1);
        kept.lastCallAt = Date.now();
      }
    });
    return journaled(engine, run, this.#journals);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweep);
    await Promise.all([...this.#engines.values()].map(({ engine }) => engine.close()));
  }

  #keep(key: string, settings: EngineSettings): Kept {
    let kept = this.#engines.get(key);
    if (kept === undefined) {
      if (this.#closed) throw new RekindleError('EngineError', 'the engine was closed');
      const { device, run } = settings;
      const room = device === 'cpu' ? Promise.resolve() : this.#closeIdle(idleTimes.givesWay, device);
      const engine = this.#create(settings, (loss) => this.#report(key, loss));
      kept = { engine, settings, callers: [], lastCaller: run, lastCallAt: Date.now(), room };
      this.#engines.set(key, kept);
    }
    return kept;
  }

  async #closeIdle(time: number, device?: string): Promise<void> {
    const idle = [...this.#engines].filter(
      ([, { callers, lastCallAt, settings }]) =>
        callers.length === 0 &&
        Date.now() - lastCallAt >= time &&
        (device === undefined || settings.device === device),
    );
    for (const [key] of idle) this.#engines.delete(key);
    await Promise.all(idle.map(([, { engine }]) => engine.close()));
  }

  /** The death of an engine goes into the journals of the runs that it worked for, or worked for last. */
  #report(key: string, { how, hung, inFlight }: EngineLoss): void {
    const kept = this.#engines.get(key);
    if (kept === undefined) return;
    const runs = new Set(kept.callers.length > 0 ? kept.callers : [kept.lastCaller]);
    const at = new Date().toISOString();
    for (const run of runs) this.#journals.write(run, { event: 'engine-exited', at, how, hung, inFlight });
  }
}

function embedded(home: string): CreateEngine {
  return (settings, onLost) => {
    const { device, run, hangSeconds } = settings;
    const admit = device === 'cpu' ? {} : { admit: () => lockDevice(device, { home, run }) };
    return new EngineClient(settings, { onLost, hangSeconds, ...admit });
  };
}
