/**
 * Keys and values of a fixed number of sequences ("rows"), one buffer [rows, kvHeads, length, headSize] for keys and one for
 * values in each layer. Sessions read and write the very buffers, so the tensors handed to them are made once.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { tensor, type Tensor } from './session.ts';

/** Names of a layer's key and value buffers [rows, kvHeads, length, headSize], read and written. */
export function cacheTensors(layer: number): Record<'pastKey' | 'pastValue' | 'key' | 'value', string> {
  return {
    pastKey: `pastKey${layer}`,
    pastValue: `pastValue${layer}`,
    key: `key${layer}`,
    value: `value${layer}`,
  };
}

/** Tensors over the first rows of a cache. */
export interface KvWindow {
  readonly rows: number;
  /** Positions that each row has room for. */
  readonly length: number;
  readonly feeds: Readonly<Record<string, Tensor>>;
  readonly fetches: Readonly<Record<string, Tensor>>;
}

/** The keys and values of the beginning of a sequence, kept where the cache is that they were read from. */
export interface KvPrefix {
  release(): void;
}

export interface KvCache extends KvWindow {
  /** The first rows, at least `rows` of them: as many as sessions can be given. */
  window(rows: number): KvWindow;
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

/** How many times its first length a cache can be grown to in place. */
const SPARE = 2;

/**
 * In one array: large enough for huge pages, and with room to grow in place, which costs nothing until it is used.
 */
export class HostKvCache implements KvCache {
  readonly rows: number;
  readonly length: number;
  readonly #config: DecoderConfig;
  readonly #array: Float32Array;
  /** Positions that the array has room for in each row. */
  readonly #capacity: number;
  /** Keys and values of each layer in turn. */
  readonly #buffers: readonly Float32Array[];
  readonly #windows = new Map<number, KvWindow>();

  /** @param room The array of a shorter cache, which goes on in it. */
  constructor(
    config: DecoderConfig,
    rows: number,
    length: number,
    room?: { array: Float32Array; capacity: number },
  ) {
    this.rows = rows;
    this.length = length;
    this.#config = config;
    const { layers, kvHeads, headSize } = config;
    const sizeOf = (positions: number): number => rows * kvHeads * positions * headSize;
    this.#capacity = room?.capacity ?? SPARE * length;
    this.#array = room?.array ?? new Float32Array(2 * layers * sizeOf(this.#capacity));
    this.#buffers = Array.from({ length: 2 * layers }, (_, i) => {
      const start = i * sizeOf(this.#capacity);
      return this.#array.subarray(start, start + sizeOf(length));
    });
  }

  get feeds(): KvWindow['feeds'] {
    return this.window(this.rows).feeds;
  }

  get fetches(): KvWindow['fetches'] {
    return this.window(this.rows).fetches;
  }

  window(rows: number): KvWindow {
    let window = this.#windows.get(rows);
    if (!window) {
      window = this.#view(rows);
      this.#windows.set(rows, window);
    }
    return window;
  }

  #view(rows: number): KvWindow {
    const { kvHeads, headSize } = this.#config;
    const shape = [rows, kvHeads, this.length, headSize];
    const size = rows * kvHeads * this.length * headSize;
    const feeds: Record<string, Tensor> = {};
    const fetches: Record<string, Tensor> = {};
    this.#buffers.forEach((buffer, i) => {
      const { pastKey, pastValue, key, value } = cacheTensors(Math.floor(i / 2));
      const [past, written] = i % 2 === 0 ? [pastKey, key] : [pastValue, value];
      feeds[past] = fetches[written] = tensor(buffer.subarray(0, size), shape);
    });
    return { rows, length: this.length, feeds, fetches };
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
    const { headSize } = this.#config;
    const inPlace = length <= this.#capacity;
    const room = { array: this.#array, capacity: this.#capacity };
    const longer = new HostKvCache(this.#config, this.rows, length, inPlace ? room : undefined);
    const [from, to] = [this.length * headSize, length * headSize];
    this.#buffers.forEach((buffer, i) => {
      // Last heads first: a piece may overwrite those behind it.
      for (let head = buffer.length / from - 1; head >= 0; head--) {
        longer.#buffers[i]!.set(buffer.subarray(head * from, (head + 1) * from), head * to);
      }
    });
    return longer;
  }

  /** The array goes with its last reader. */
  release(): void {}

  #eachHead(row: number, visit: (buffer: Float32Array, start: number) => void): void {
    const { kvHeads, headSize } = this.#config;
    const head = this.length * headSize;
    for (const buffer of this.#buffers) {
      for (let i = 0; i < kvHeads; i++) visit(buffer, (row * kvHeads + i) * head);
    }
  }
}
