/**
 * Keys and values of a fixed number of sequences ("rows"), one buffer [rows, kvHeads, length, headSize] for keys and one for
 * values in each layer. Sessions read and write the very buffers, so the tensors handed to them are made once.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { cacheTensors } from './decode-graph.ts';
import { tensor, type Tensor } from './session.ts';

/** The keys and values of the beginning of a sequence, kept where the cache is that they were read from. */
export interface KvPrefix {
  release(): void;
}

export interface KvCache {
  /** Positions that each row has room for. */
  readonly length: number;
  readonly feeds: Readonly<Record<string, Tensor>>;
  readonly fetches: Readonly<Record<string, Tensor>>;
  /** A copy of the first `positions` keys and values of a row. */
  read(row: number, positions: number): KvPrefix;
  /** Writes what `read` gave to the beginning of a row. */
  write(row: number, prefix: KvPrefix): void;
  /** A longer cache with the same contents, in place of this one. */
  grown(length: number): KvCache;
  release(): void;
}

/** Packed: [buffers, kvHeads, positions, headSize]. */
class HostPrefix implements KvPrefix {
  readonly packed: Float32Array;

  constructor(packed: Float32Array) {
    this.packed = packed;
  }

  release(): void {}
}

/** In arrays. */
export class HostKvCache implements KvCache {
  readonly length: number;
  readonly feeds: Record<string, Tensor> = {};
  readonly fetches: Record<string, Tensor> = {};
  readonly #config: DecoderConfig;
  readonly #rows: number;
  readonly #buffers: Float32Array[] = [];

  constructor(config: DecoderConfig, rows: number, length: number) {
    this.length = length;
    this.#config = config;
    this.#rows = rows;
    const shape = [rows, config.kvHeads, length, config.headSize];
    for (let layer = 0; layer < config.layers; layer++) {
      const names = cacheTensors(layer);
      this.feeds[names.pastKey] = this.fetches[names.key] = this.#allocate(shape);
      this.feeds[names.pastValue] = this.fetches[names.value] = this.#allocate(shape);
    }
  }

  #allocate(shape: number[]): Tensor {
    const buffer = new Float32Array(shape.reduce((product, size) => product * size, 1));
    this.#buffers.push(buffer);
    return tensor(buffer, shape);
  }

  read(row: number, positions: number): HostPrefix {
    const piece = positions * this.#config.headSize;
    const packed = new Float32Array(this.#buffers.length * this.#config.kvHeads * piece);
    let end = 0;
    this.#eachHead(row, (buffer, start) => {
      packed.set(buffer.subarray(start, start + piece), end);
      end += piece;
    });
    return new HostPrefix(packed);
  }

  write(row: number, { packed }: HostPrefix): void {
    const piece = packed.length / (this.#buffers.length * this.#config.kvHeads);
    let begin = 0;
    this.#eachHead(row, (buffer, start) => {
      buffer.set(packed.subarray(begin, begin + piece), start);
      begin += piece;
    });
  }

  grown(length: number): HostKvCache {
    const longer = new HostKvCache(this.#config, this.#rows, length);
    for (let row = 0; row < this.#rows; row++) longer.write(row, this.read(row, this.length));
    return longer;
  }

  /** The arrays go with their last reader. */
  release(): void {}

  #eachHead(row: number, visit: (buffer: Float32Array, start: number) => void): void {
    const { kvHeads, headSize } = this.#config;
    const head = this.length * headSize;
    for (const buffer of this.#buffers) {
      for (let i = 0; i < kvHeads; i++) visit(buffer, (row * kvHeads + i) * head);
    }
  }
}
