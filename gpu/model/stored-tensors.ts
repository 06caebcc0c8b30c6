/** Weights on disk, in whatever files and formats: tensors by name, read one by one as float32. */
export interface StoredTensor {
  name: string;
  shape: readonly number[];
  /** As the file names it: F32, BF16, Q4_K ... */
  dtype: string;
  /** Bytes on disk. */
  bytes: number;
}

export interface StoredTensors {
  /** How errors name the whole. */
  readonly path: string;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  /** Text that the files carry. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Reads a tensor, row-major, into an array of exactly its number of elements. */
  readInto(name: string, target: Float32Array): Promise<void>;
  close(): Promise<void>;
}
