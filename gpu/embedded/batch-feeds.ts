/** The inputs of the forward graph that say which tokens are run, where they go and what they attend to. */
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { KvWindow } from './kv-cache.ts';
import { tensor, type Tensor } from './session.ts';

export interface TokenBatch {
  /** New tokens of each row; a row with fewer is padded at its end, with any ids. */
  steps: number;
  /** [rows, steps] */
  idsBT: Int32Array;
  /** Position of each row's first token. */
  starts: readonly number[];
  /** Tokens, counted over rows x steps, after which a distribution is wanted. */
  selected: readonly number[];
  /** Of each of these distributions; greater than 0. */
  temperatures: readonly number[];
}

interface Arrays {
  ids: Int32Array;
  /** 64-bit integers of the graph, and their low words: numbers here are small, and bigints slow. */
  positions: BigInt64Array;
  positionWords: Int32Array;
  cells: BigInt64Array;
  cellWords: Int32Array;
  mask: Float32Array;
  selected: Int32Array;
  inverseTemperatures: Float32Array;
}

export class BatchFeeds {
  readonly #config: DecoderConfig;
  #size = '';
  #arrays!: Arrays;
  #tensors: Readonly<Record<string, Tensor>> = {};

  constructor(config: DecoderConfig) {
    this.#config = config;
  }

  /** Valid until the next call: batches of one size share their arrays. */
  of({ length }: KvWindow, batch: TokenBatch): Readonly<Record<string, Tensor>> {
    const rows = batch.starts.length;
    const size = [rows, batch.steps, length, batch.selected.length].join();
    if (size !== this.#size) {
      this.#size = size;
      this.#allocate(rows, batch.steps, length, batch.selected.length);
    }
    const { ids, selected, inverseTemperatures } = this.#arrays;
    ids.set(batch.idsBT);
    selected.set(batch.selected);
    inverseTemperatures.set(batch.temperatures.map((temperature) => 1 / temperature));
    this.#place(batch, length);
    return this.#tensors;
  }

  #allocate(rows: number, steps: number, length: number, selections: number): void {
    const { heads, kvHeads } = this.#config;
    const queries = (heads / kvHeads) * steps;
    const positions = new BigInt64Array(rows * steps);
    const cells = new BigInt64Array(rows * kvHeads * steps * 3);
    this.#arrays = {
      ids: new Int32Array(rows * steps),
      positions,
      positionWords: new Int32Array(positions.buffer),
      cells,
      cellWords: new Int32Array(cells.buffer),
      mask: new Float32Array(rows * queries * length),
      selected: new Int32Array(selections),
      inverseTemperatures: new Float32Array(selections),
    };
    const { ids, mask, selected, inverseTemperatures } = this.#arrays;
    this.#tensors = {
      ids: tensor(ids, [rows, steps]),
      positions: tensor(positions, [rows, steps]),
      cells: tensor(cells, [rows, kvHeads, steps, 3]),
      mask: tensor(mask, [rows, 1, queries, length]),
      selected: tensor(selected, [selections]),
      inverseTemperatures: tensor(inverseTemperatures, [selections, 1]),
    };
  }

  #place({ starts, steps }: TokenBatch, length: number): void {
    const { heads, kvHeads, attentionWindow } = this.#config;
    const { positionWords, cellWords, mask } = this.#arrays;
    const group = heads / kvHeads;
    mask.fill(-Infinity);
    for (let row = 0; row < starts.length; row++) {
      for (let step = 0; step < steps; step++) {
        const position = starts[row]! + step;
        positionWords[2 * (row * steps + step)] = position;
        for (let head = 0; head < kvHeads; head++) {
          const cell = 6 * ((row * kvHeads + head) * steps + step);
          cellWords[cell] = row;
          cellWords[cell + 2] = head;
          cellWords[cell + 4] = position;
        }
        const first = attentionWindow === null ? 0 : Math.max(0, position + 1 - attentionWindow);
        for (let query = 0; query < group; query++) {
          const line = ((row * group + query) * steps + step) * length;
          mask.fill(0, line + first, line + position + 1);
        }
      }
    }
  }
}
