/**
 * The weights that a server answers with, and their version. A request keeps the weights that it began with: an update changes
 * what comes after it, and one that fails changes nothing. Changes are made one at a time, in the order in which they came.
 */
import type { Engine, EngineMemory, WeightsSource } from '../engine-port.ts';
import type { FoundWeights } from './find-weights.ts';
import { HttpError } from './http/http-error.ts';

export interface Versioned {
  source: WeightsSource;
  version: string;
}

export class ServedWeights {
  readonly #engine: Engine;
  readonly #base: WeightsSource['base'];
  readonly #released = new Set<EngineMemory>();
  #current: Versioned;
  #lastChange: Promise<unknown> = Promise.resolve();
  #loads = 0;

  constructor(engine: Engine, first: Versioned) {
    this.#engine = engine;
    this.#base = first.source.base;
    this.#current = first;
  }

  get version(): string {
    return this.#current.version;
  }

  /** What the memory was freed of, and has not come back yet. */
  get released(): ReadonlySet<EngineMemory> {
    return this.#released;
  }

  /** The weights to answer with. @throws HttpError 503 while memory is released. */
  current(): Versioned {
    if (this.#released.size === 0) return this.#current;
    throw new HttpError(503, `the memory of ${[...this.#released].join(' and ')} is released`, {
      code: 'memory_released',
      retryAfter: 1,
    });
  }

  /** Loads the first weights. */
  load(): Promise<void> {
    return this.#inOrder(() => this.#engine.load(this.#current.source, 0));
  }

  /**
   * Loads weights and makes them current; their content is read even if the path was loaded before. Where the first weights
   * were an adapter on a base, a file that is no model's is another adapter on it.
   */
  update({ path, isModel }: FoundWeights, version: string | undefined): Promise<void> {
    return this.#inOrder(async () => {
      const base = isModel ? undefined : this.#base;
      const source = { tag: `load ${++this.#loads} of ${path}`, path, ...(base && { base }) };
      await this.#engine.load(source, 0);
      this.#current = { source, version: version ?? this.#current.version };
      this.#released.delete('weights');
    });
  }

  setVersion(version: string): void {
    this.#current = { ...this.#current, version };
  }

  /** Frees memory. The caller sees to it that nothing is being generated. */
  release(parts: readonly EngineMemory[]): Promise<void> {
    return this.#inOrder(async () => {
      for (const part of parts) this.#released.add(part);
      await this.#engine.release(parts);
    });
  }

  /** Loads what was released; the cache comes back with the next request. */
  resume(parts: readonly EngineMemory[]): Promise<void> {
    return this.#inOrder(async () => {
      if (parts.includes('weights') && this.#released.has('weights')) {
        await this.#engine.load(this.#current.source, 0);
      }
      for (const part of parts) this.#released.delete(part);
    });
  }

  #inOrder<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#lastChange.then(change);
    this.#lastChange = result.catch(() => undefined);
    return result;
  }
}
