/**
 * Decodes one token of each running sequence. Each sequence has a row of the KV cache; a step runs the rows up to the last one in
 * use. A row that is free keeps the keys and values of its last sequence until another takes it.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { cacheLength } from './forward-graph.ts';
import type { ForwardPass, Weights } from './forward-pass.ts';
import type { KvCache, KvPrefix } from './kv-cache.ts';
import type { StepOutput } from './step-output.ts';
import type { TensorPlace } from './tensor-place.ts';

/** How many times longer than needed a growing cache is made: attention reads all of it, but growing copies all of it. */
const GROWTH = 1.25;

/** The token that a step runs in a row. */
export interface NextFeed {
  row: number;
  id: number;
  /** Greater than 0. */
  temperature: number;
}

export class Decoder {
  readonly #config: DecoderConfig;
  readonly #place: TensorPlace;
  readonly #forward: ForwardPass;
  /** The tokens of each row whose keys and values are in the cache. */
  readonly #contents: number[][];
  #cache: KvCache;
  #reserved = 0;

  constructor(config: DecoderConfig, place: TensorPlace, forward: ForwardPass, rows: number) {
    this.#config = config;
    this.#place = place;
    this.#forward = forward;
    this.#contents = Array.from({ length: rows }, () => []);
    this.#cache = place.kvCache(config, rows, cacheLength(this.#config, 1));
  }

  /** The tokens of each row whose keys and values are in the cache. */
  get contents(): readonly (readonly number[])[] {
    return this.#contents;
  }

  get bytes(): number {
    const { layers, kvHeads, headSize } = this.#config;
    return 4 * 2 * layers * this.#cache.rows * kvHeads * this.#cache.length * headSize;
  }

  /** Announces sequences of up to `positions` tokens: the cache grows when they get there, and never beyond. */
  reserve(positions: number): void {
    this.#reserved = Math.max(this.#reserved, positions);
  }

  /** Starts a row with the keys and values of `ids`. */
  fill(row: number, ids: readonly number[], keysAndValues: KvPrefix): void {
    this.#grow(ids.length);
    this.#cache.write(row, keysAndValues);
    this.#contents[row] = [...ids];
  }

  /** The keys and values of all of a row's tokens. */
  read(row: number): KvPrefix {
    return this.#cache.read(row, this.#contents[row]!.length);
  }

  /** Copies a sequence to a free row. */
  move(from: number, to: number): void {
    const keysAndValues = this.read(from);
    this.#cache.write(to, keysAndValues);
    keysAndValues.release();
    this.#contents[to] = this.#contents[from]!;
    this.#contents[from] = [];
  }

  /** Runs a token in each of some rows, which are in ascending order. The output holds a row for each feed, valid until the next run. */
  step(weights: Weights, feeds: readonly NextFeed[]): StepOutput {
    const window = feeds.at(-1)!.row + 1;
    this.#grow(Math.max(...feeds.map(({ row }) => this.#contents[row]!.length + 1)));
    const cache = this.#cache.window(window);
    const idsBT = new Int32Array(cache.rows);
    const starts = this.#contents.slice(0, cache.rows).map(({ length }) => length);
    for (const { row, id } of feeds) {
      idsBT[row] = id;
      this.#contents[row]!.push(id);
    }
    for (let row = 0; row < cache.rows; row++) {
      if (starts[row]! < cache.length) continue;
      // A free row without room for the token that is run in it all the same.
      this.#contents[row] = [];
      starts[row] = 0;
    }
    return this.#forward.run(weights, cache, {
      steps: 1,
      idsBT,
      starts,
      selected: feeds.map(({ row }) => row),
      temperatures: feeds.map(({ temperature }) => temperature),
    });
  }

  /** Forgets all rows, and gives back what they grew to. */
  reset(): void {
    const { rows } = this.#cache;
    this.#cache.release();
    this.#cache = this.#place.kvCache(this.#config, rows, cacheLength(this.#config, 1));
    this.#contents.forEach((_, row) => (this.#contents[row] = []));
    this.#reserved = 0;
  }

  close(): void {
    this.#cache.release();
  }

  #grow(positions: number): void {
    if (positions <= this.#cache.length) return;
    const generous = Math.min(this.#reserved, Math.floor(positions * GROWTH));
    this.#cache = this.#cache.grown(cacheLength(this.#config, Math.max(positions, generous)));
  }
}
