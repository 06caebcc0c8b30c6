/** Keys and values as kv-cache.ts holds them, in a device's memory. Its maker releases it, and every prefix that was read from it. */
import { cacheTensors, type KvCache, type KvPrefix, type KvWindow } from '../embedded/kv-cache.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { DeviceMemory } from './device-memory.ts';
import type { KvMoves } from './kv-moves.ts';
import { ResidentTensor } from './resident-tensor.ts';

/** The keys and values of the beginning of a sequence: a piece [1, kvHeads, positions, headSize] of each buffer. */
class ResidentPrefix implements KvPrefix {
  readonly pieces: readonly ResidentTensor[];

  constructor(pieces: readonly ResidentTensor[]) {
    this.pieces = pieces;
  }

  release(): void {
    for (const piece of this.pieces) piece.release();
  }
}

export class ResidentKvCache implements KvCache {
  readonly rows: number;
  readonly length: number;
  readonly feeds: Record<string, ResidentTensor> = {};
  readonly fetches: Record<string, ResidentTensor> = {};
  readonly #config: DecoderConfig;
  readonly #moves: KvMoves;
  readonly #buffers: ResidentTensor[] = [];

  /** Room for `length` positions of each row; must be filled before it is read. */
  constructor(config: DecoderConfig, rows: number, length: number, moves: KvMoves) {
    this.length = length;
    this.#config = config;
    this.rows = rows;
    this.#moves = moves;
    const allocate = (): ResidentTensor => {
      const buffer = new ResidentTensor([rows, config.kvHeads, length, config.headSize]);
      this.#buffers.push(buffer);
      return buffer;
    };
    for (let layer = 0; layer < config.layers; layer++) {
      const names = cacheTensors(layer);
      this.feeds[names.pastKey] = this.fetches[names.key] = allocate();
      this.feeds[names.pastValue] = this.fetches[names.value] = allocate();
    }
  }

  /** All rows: a buffer goes to a session as a whole. */
  window(): KvWindow {
    return this;
  }

  /** Writes zeros everywhere. */
  clear(memory: DeviceMemory): void {
    const { shape } = this.#buffers[0]!;
    const zeros = new Float32Array(shape.reduce((product, size) => product * size, 1));
    for (const buffer of this.#buffers) memory.write(buffer, zeros);
  }

  read(row: number, positions: number): ResidentPrefix {
    const pieces = this.#buffers.map(
      ({ shape: [, kvHeads, , headSize] }) => new ResidentTensor([1, kvHeads!, positions, headSize!]),
    );
    this.#moves.cut(this.#buffers, row, positions, pieces);
    return new ResidentPrefix(pieces);
  }

  write(row: number, { pieces }: ResidentPrefix): void {
    this.#moves.put(this.#buffers, row, pieces);
  }

  grown(length: number): ResidentKvCache {
    const longer = new ResidentKvCache(this.#config, this.rows, length, this.#moves);
    this.#moves.lengthen(this.#buffers, longer.#buffers);
    this.release();
    return longer;
  }

  release(): void {
    for (const buffer of this.#buffers) buffer.release();
  }
}
