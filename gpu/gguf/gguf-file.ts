/**
 * An open GGUF file. Tensors are read under their Hugging Face names, as float32, a few megabytes at a time.
 *
 * Files of the architecture llama have the rows of q and k in another order: Hugging Face rotates the halves of a head against
 * each other, GGUF neighbouring pairs. Row 2 i + t of a head in the file is row t * headSize / 2 + i here.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { RekindleError } from '../../core/errors.ts';
import type { StoredTensor, StoredTensors } from '../model/stored-tensors.ts';
import { NeedsMoreBytes } from './gguf-cursor.ts';
import { refusing } from './gguf-error.ts';
import { parseGgufHeader, type GgufHeader, type GgufTensor } from './gguf-header.ts';
import { huggingFaceName } from './gguf-names.ts';
import { readFully } from '../model/read-fully.ts';

/** Headers are as long as their vocabulary: mostly below this. */
const firstRead = 1 << 24;
const chunkBytes = 1 << 22;

async function readHeader(file: FileHandle, path: string): Promise<GgufHeader> {
  const { size } = await file.stat();
  for (let length = Math.min(size, firstRead); ; length = Math.min(size, 2 * length)) {
    const bytes = new Uint8Array(length);
    await readFully(file, path, bytes, 0);
    try {
      return parseGgufHeader(bytes, size, refusing(path));
    } catch (error) {
      if (!(error instanceof NeedsMoreBytes)) throw error;
    }
  }
}

/** Where a row of the file goes. */
type RowOrder = (row: number) => number;
const sameOrder: RowOrder = (row) => row;
function halvesOrder(headSize: number): RowOrder {
  return (row) => {
    const inHead = row % headSize;
    return row - inHead + (inHead & 1) * (headSize / 2) + (inHead >> 1);
  };
}

export class GgufFile implements StoredTensors {
  readonly path: string;
  readonly header: GgufHeader;
  readonly metadata = {};
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  readonly #file: FileHandle;
  readonly #entries = new Map<string, GgufTensor>();
  #rotatedHeadSize: number | undefined;

  private constructor(path: string, header: GgufHeader, file: FileHandle) {
    this.path = path;
    this.header = header;
    this.#file = file;
    for (const tensor of header.tensors)
      this.#entries.set(huggingFaceName(tensor.name) ?? tensor.name, tensor);
    this.tensors = new Map(
      Array.from(this.#entries, ([name, { shape, type, bytes }]) => [
        name,
        { name, shape, dtype: type.name, bytes },
      ]),
    );
  }

  /** @throws RekindleError ModelError when the file is missing or its header is not sound. */
  static async open(path: string): Promise<GgufFile> {
    const file = await open(path, 'r').catch((error: Error) => {
      throw new RekindleError('ModelError', `${path} cannot be opened: ${error.message}`, { cause: error });
    });
    try {
      return new GgufFile(path, await readHeader(file, path), file);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** From now on q and k are read in Hugging Face's order of rows. */
  undoRotaryOrder(headSize: number): void {
    this.#rotatedHeadSize = headSize;
  }

  async readInto(name: string, target: Float32Array): Promise<void> {
    const { shape, type, start, bytes } = this.#entries.get(name)!;
    const rowValues = shape.at(-1)!;
    const rowBytes = (rowValues / type.blockValues) * type.blockBytes;
    const order =
      this.#rotatedHeadSize && /\.[qk]_proj\./.test(name) ? halvesOrder(this.#rotatedHeadSize) : sameOrder;
    const rowsAtOnce = Math.max(1, Math.floor(chunkBytes / Math.max(1, rowBytes)));
    const chunk = new Uint8Array(Math.min(bytes, rowsAtOnce * rowBytes));
    for (let done = 0, row = 0; done < bytes; done += chunk.length) {
      const part = chunk.subarray(0, Math.min(chunk.length, bytes - done));
      await readFully(this.#file, this.path, part, start + done);
      for (let at = 0; at < part.length; at += rowBytes, row++) {
        const to = order(row) * rowValues;
        type.dequantize(part.subarray(at, at + rowBytes), target.subarray(to, to + rowValues));
      }
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}
