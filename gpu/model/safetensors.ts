/**
 * Reading and writing safetensors files.
 * Reading widens F16 and BF16 to float32. Writing is deterministic: the same tensors, metadata and dtype give the same bytes
 * (sorted by name). Both go tensor by tensor, so a weight set is never held twice.
 */
import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { RekindleError } from '../../core/errors.ts';
import { narrowToBfloat16, narrowToHalf, widenBfloat16, widenHalf } from './float-formats.ts';
import {
  elementCount,
  encodeHeader,
  lengthFieldBytes,
  parseHeader,
  parseHeaderLength,
  type Dtype,
  type SafetensorsHeader,
  type TensorEntry,
} from './safetensors-header.ts';
import { readFully } from './read-fully.ts';

export interface Tensor {
  shape: number[];
  /** Row-major. */
  data: Float32Array;
}
/** Tensors by name. */
export type Tensors = Map<string, Tensor>;

/** One read, write or hash call handles at most this many bytes. */
const chunkBytes = 1 << 24;

function bytesOf(array: Float32Array | Uint16Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** An open safetensors file whose header has been checked. */
export class SafetensorsFile {
  readonly path: string;
  readonly header: SafetensorsHeader;
  readonly #file: FileHandle;

  private constructor(path: string, header: SafetensorsHeader, file: FileHandle) {
    this.path = path;
    this.header = header;
    this.#file = file;
  }

  /** @throws RekindleError ModelError when the file is missing or its header is not sound. */
  static async open(path: string): Promise<SafetensorsFile> {
    const file = await open(path, 'r').catch((error: Error) => {
      throw new RekindleError('ModelError', `${path} cannot be opened: ${error.message}`, { cause: error });
    });
    try {
      const { size } = await file.stat();
      const field = new Uint8Array(Math.min(lengthFieldBytes, size));
      await readFully(file, path, field, 0);
      const json = new Uint8Array(parseHeaderLength(field, size, path));
      await readFully(file, path, json, lengthFieldBytes);
      return new SafetensorsFile(path, parseHeader(json, size, path), file);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Reads a tensor into an array of exactly its number of elements. */
  async readInto(entry: TensorEntry, target: Float32Array): Promise<void> {
    const elements = elementCount(entry.shape);
    if (target.length !== elements) {
      throw new RangeError(
        `tensor '${entry.name}' has ${elements} elements, the target has ${target.length}`,
      );
    }
    const position = this.header.dataStart + entry.begin;
    if (entry.dtype === 'F32') {
      await readFully(this.#file, this.path, bytesOf(target), position);
      return;
    }
    // Read into the end of the target's own memory, so that widening, which goes forward, needs no other.
    const bits = new Uint16Array(target.buffer, target.byteOffset + 2 * elements, elements);
    await readFully(this.#file, this.path, bytesOf(bits), position);
    (entry.dtype === 'F16' ? widenHalf : widenBfloat16)(bits, target);
  }

  async read(entry: TensorEntry): Promise<Tensor> {
    const data = new Float32Array(elementCount(entry.shape));
    await this.readInto(entry, data);
    return { shape: entry.shape, data };
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** Reads a whole file. @throws RekindleError ModelError that names the file and the field. */
export async function readSafetensors(
  path: string,
): Promise<{ tensors: Tensors; metadata: Record<string, string> }> {
  const file = await SafetensorsFile.open(path);
  try {
    const tensors: Tensors = new Map();
    for (const entry of file.header.tensors) tensors.set(entry.name, await file.read(entry));
    return { tensors, metadata: file.header.metadata };
  } finally {
    await file.close();
  }
}

/** Where the tensors to write come from: at hand, or made one by one. */
export interface TensorSource {
  name: string;
  shape: readonly number[];
  data: () => Float32Array | Promise<Float32Array>;
}

/** The bytes of values in a format. */
function encode(values: Float32Array, dtype: Dtype): Uint8Array {
  if (dtype === 'F32') return bytesOf(values);
  return bytesOf(dtype === 'F16' ? narrowToHalf(values) : narrowToBfloat16(values));
}

/**
 * Writes tensors, sorted by name (by UTF-16 code unit), over any file at `path`, and syncs it to disk.
 * The default metadata is what transformers expects of the weights of a PyTorch model.
 * @returns the SHA-256 of the file as `sha256:<hex>`, and its size in bytes
 * @throws RekindleError StoreError when the file cannot be written.
 */
export async function writeSafetensors(
  path: string,
  tensors: Tensors | readonly TensorSource[],
  metadata: Record<string, string> = { format: 'pt' },
  dtype: Dtype = 'F32',
): Promise<{ hash: string; size: number }> {
  const sources: TensorSource[] =
    tensors instanceof Map
      ? Array.from(tensors, ([name, { shape, data }]) => ({ name, shape, data: () => data }))
      : [...tensors];
  sources.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));

  const refuse = (error: Error): never => {
    throw new RekindleError('StoreError', `${path} cannot be written: ${error.message}`, {
      hint: 'See that the folder exists, is writable and has space left.',
      cause: error,
    });
  };
  const digest = createHash('sha256');
  const file = await open(path, 'w').catch(refuse);
  let size = 0;
  const append = async (bytes: Uint8Array): Promise<void> => {
    for (let start = 0; start < bytes.length; start += chunkBytes) {
      const chunk = bytes.subarray(start, start + chunkBytes);
      digest.update(chunk);
      await file.writeFile(chunk).catch(refuse);
    }
    size += bytes.length;
  };
  try {
    await append(encodeHeader(sources, metadata, dtype));
    for (const { name, shape, data } of sources) {
      const values = await data();
      if (values.length !== elementCount(shape)) {
        throw new RangeError(`tensor '${name}' has ${values.length} values for shape [${shape.join(', ')}]`);
      }
      await append(encode(values, dtype));
    }
    await file.sync().catch(refuse);
  } finally {
    await file.close();
  }
  return { hash: `sha256:${digest.digest('hex')}`, size };
}
