/**
 * Reading the values of a GGUF header one after the other. Nothing is allocated by a count that the file merely claims: a count
 * is checked against the bytes that are left before it is believed.
 */
import type { Refuse } from './gguf-error.ts';

/** The header goes on beyond the bytes at hand. */
export class NeedsMoreBytes extends Error {}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class GgufCursor {
  position = 0;
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #fileBytes: number;
  readonly #refuse: Refuse;

  /** @param bytes the beginning of the file; @param fileBytes the size of all of it */
  constructor(bytes: Uint8Array, fileBytes: number, refuse: Refuse) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#fileBytes = fileBytes;
    this.#refuse = refuse;
  }

  /** Moves past `length` bytes and returns where they begin. */
  #take(length: number): number {
    const start = this.position;
    if (length > this.#fileBytes - start) this.#refuse(`ends within its header, at byte ${this.#fileBytes}`);
    if (length > this.#bytes.length - start) throw new NeedsMoreBytes();
    this.position += length;
    return start;
  }

  u8 = (): number => this.#view.getUint8(this.#take(1));
  i8 = (): number => this.#view.getInt8(this.#take(1));
  u16 = (): number => this.#view.getUint16(this.#take(2), true);
  i16 = (): number => this.#view.getInt16(this.#take(2), true);
  u32 = (): number => this.#view.getUint32(this.#take(4), true);
  i32 = (): number => this.#view.getInt32(this.#take(4), true);
  f32 = (): number => this.#view.getFloat32(this.#take(4), true);
  f64 = (): number => this.#view.getFloat64(this.#take(8), true);
  bool = (): boolean => this.u8() !== 0;

  /** Exact up to 2^53; counts and sizes are checked where they are used. */
  u64 = (): number => Number(this.#view.getBigUint64(this.#take(8), true));
  i64 = (): number => Number(this.#view.getBigInt64(this.#take(8), true));

  string = (): string => {
    const length = this.u64();
    const start = this.#take(length);
    try {
      return decoder.decode(this.#bytes.subarray(start, start + length));
    } catch {
      return this.#refuse(`has a string at byte ${start} that is not UTF-8`);
    }
  };

  /** A number of things that take at least `leastBytes` each. */
  count(what: string, leastBytes: number): number {
    const count = this.u64();
    const possible = Math.floor((this.#fileBytes - this.position) / leastBytes);
    if (count > possible) this.#refuse(`claims ${count} ${what}, but has room for ${possible} at most`);
    return count;
  }
}
