/**
 * The engines of this process: one for each model shape that its runs need and, for adapters, each base that they add to. Many runs
 * begin with the same adapter, and an engine knows it by its own hash alone. An engine lives in a child process; when it dies, its
 * client fails the calls in flight and starts another with the next call.
 */
import type { EngineSettings } from '../activities/services.ts';
import type { Engine } from '../gpu/engine-port.ts';
import { EngineClient } from '../gpu/embedded/engine-client.ts';
import { journaled } from './journaled-engine.ts';
import type { RunJournals } from './run-journals.ts';

export class EngineKeeper {
  readonly #journals: RunJournals;
  readonly #create: (settings: EngineSettings) => Engine;
  readonly #engines = new Map<string, Engine>();

  /** `create` makes an engine for a shape: an embedded one by default. */
  constructor(
    journals: RunJournals,
    create: (settings: EngineSettings) => Engine = (settings) => new EngineClient(settings),
  ) {
    this.#journals = journals;
    this.#create = create;
  }

  get(settings: EngineSettings): Engine {
    const { run, base, ...shape } = settings;
    const key = JSON.stringify({ base, ...shape });
    let engine = this.#engines.get(key);
    if (engine === undefined) {
      engine = this.#create(settings);
      this.#engines.set(key, engine);
    }
    return journaled(engine, run, this.#journals);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#engines.values()].map((engine) => engine.close()));
  }
}
