/**
 * Computes the keys and values of prompts, several at once.
 *
 * The runtime's matrix products may round differently for different sizes. So a prompt always runs at a size that follows from
 * its own length: padded to a step of a fixed ladder, in a batch of a fixed number of rows for that step, empty ones included.
 * Its keys and values then depend on nothing but itself and the weights.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { prefillGraph } from './decode-graph.ts';
import type { KvCache, KvPrefix } from './kv-cache.ts';
import { Session, tensor, type Tensor } from './session.ts';
import type { TensorPlace } from './tensor-place.ts';

const BATCH_TOKENS = 256;
const SHORTEST = 8;

/** The padded length for prompts of `tokens` tokens: 8, 12, 16, 24, 32, 48, …, at most `maxPositions`. */
export function paddedLength(tokens: number, maxPositions: number): number {
  let length = SHORTEST;
  while (length < tokens) {
    if (length + length / 2 >= tokens) {
      length += length / 2;
      break;
    }
    length *= 2;
  }
  return Math.min(length, maxPositions);
}

/** Prompts of one padded length that are computed together. */
export function rowsAtOnce(length: number): number {
  return Math.max(1, Math.floor(BATCH_TOKENS / length));
}

interface Batch {
  idsBT: Int32Array;
  feeds: Record<string, Tensor>;
  cache: KvCache;
}

export class Prefill {
  readonly #config: DecoderConfig;
  readonly #place: TensorPlace;
  readonly #session: Session;
  readonly #batches = new Map<number, Batch>();

  constructor(config: DecoderConfig, place: TensorPlace, threads: number) {
    this.#config = config;
    this.#place = place;
    this.#session = new Session(prefillGraph(config, BATCH_TOKENS), { threads, device: place.device });
  }

  /** Keys and values of prompts that share a padded length, at most `rowsAtOnce` of them. */
  run(weights: Readonly<Record<string, Tensor>>, prompts: readonly (readonly number[])[]): KvPrefix[] {
    const batch = this.#batch(paddedLength(prompts[0]!.length, this.#config.maxPositions));
    const { idsBT, feeds, cache } = batch;
    idsBT.fill(0);
    prompts.forEach((prompt, row) => idsBT.set(prompt, row * cache.length));
    this.#session.run({ ...weights, ...feeds, ...cache.feeds }, cache.fetches);
    return prompts.map((prompt, row) => cache.read(row, prompt.length));
  }

  close(): void {
    for (const { cache } of this.#batches.values()) cache.release();
    this.#session.close();
  }

  #batch(length: number): Batch {
    let batch = this.#batches.get(length);
    if (!batch) {
      const rows = rowsAtOnce(length);
      const idsBT = new Int32Array(rows * length);
      const feeds = {
        ids: tensor(idsBT, [rows, length]),
        lastPositions: tensor(new Int32Array(rows).fill(length - 1), [rows]),
        cacheLength: tensor(Int32Array.of(length), []),
      };
      batch = { idsBT, feeds, cache: this.#place.kvCache(this.#config, rows, length) };
      this.#batches.set(length, batch);
    }
    return batch;
  }
}
