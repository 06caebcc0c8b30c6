/**
 * One decode step over a fixed number of slots. Every step runs at the full number of slots, busy or not: the runtime's matrix
 * products may round differently at another size, and so what a slot gets never depends on how many others are busy.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { decodeGraph } from './decode-graph.ts';
import type { KvCache, KvPrefix } from './kv-cache.ts';
import { blockCount, type StepOutput } from './sampler.ts';
import { Session, tensor, type Tensor } from './session.ts';
import type { TensorPlace } from './tensor-place.ts';

/** Cache lengths are multiples of this many positions. */
const LENGTH_STEP = 8;

export class Decoder {
  readonly slots: number;
  readonly output: StepOutput;
  readonly #config: DecoderConfig;
  readonly #session: Session;
  readonly #ids: Int32Array;
  readonly #positions: Int32Array;
  readonly #temperatures: Float32Array;
  readonly #cacheLength = new Int32Array(1);
  readonly #feeds: Record<string, Tensor>;
  readonly #fetches: Record<string, Tensor>;
  #cache: KvCache;

  constructor(config: DecoderConfig, place: TensorPlace, options: { threads: number; slots: number }) {
    const { slots, threads } = options;
    const { vocabSize } = config;
    const blocks = blockCount(vocabSize);
    this.slots = slots;
    this.#config = config;
    this.#session = new Session(decodeGraph(config, slots), { threads, device: place.device });
    this.#ids = new Int32Array(slots);
    this.#positions = new Int32Array(slots);
    this.#temperatures = new Float32Array(slots).fill(1);
    this.#feeds = {
      ids: tensor(this.#ids, [slots, 1]),
      lastPositions: tensor(this.#positions, [slots]),
      cacheLength: tensor(this.#cacheLength, []),
      temperatures: tensor(this.#temperatures, [slots, 1]),
    };
    this.output = {
      vocabSize,
      logitsBV: new Float32Array(slots * vocabSize),
      probabilitiesBV: new Float32Array(slots * vocabSize),
      blockSumsBN: new Float32Array(slots * blocks),
    };
    this.#fetches = {
      logits: tensor(this.output.logitsBV, [slots, vocabSize]),
      probabilities: tensor(this.output.probabilitiesBV, [slots, vocabSize]),
      blockSums: tensor(this.output.blockSumsBN, [slots, blocks]),
    };
    this.#cache = place.kvCache(config, slots, LENGTH_STEP);
  }

  /** Makes room for sequences of `positions` tokens. */
  reserve(positions: number): void {
    if (positions <= this.#cache.length) return;
    const rounded = Math.ceil(positions / LENGTH_STEP) * LENGTH_STEP;
    this.#cache = this.#cache.grown(Math.min(rounded, this.#config.maxPositions));
  }

  /** Puts a prefilled beginning into a slot. */
  fill(slot: number, prefix: KvPrefix): void {
    this.#cache.write(slot, prefix);
  }

  /** Sets the token that the next step feeds into a slot, its position, and the temperature of what comes after. */
  feed(slot: number, id: number, position: number, temperature: number): void {
    this.#ids[slot] = id;
    this.#positions[slot] = position;
    this.#temperatures[slot] = temperature;
  }

  /** Marks a slot as idle: it then costs as little attention as possible. */
  idle(slot: number): void {
    this.feed(slot, 0, 0, 1);
  }

  close(): void {
    this.#cache.release();
    this.#session.close();
  }

  /** Runs one step; `output` then holds a row for each slot. */
  step(weights: Readonly<Record<string, Tensor>>): void {
    let longest = 0;
    for (const position of this.#positions) longest = Math.max(longest, position);
    this.#cacheLength[0] = longest + 1;
    this.#session.run(
      { ...weights, ...this.#feeds, ...this.#cache.feeds },
      { ...this.#fetches, ...this.#cache.fetches },
    );
  }
}
