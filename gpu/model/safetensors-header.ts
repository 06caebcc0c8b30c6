/**
 * The header of a safetensors file: 8 bytes of little-endian length, that many bytes of JSON, then the tensors' bytes.
 * A header that this module hands out is sound: every tensor's shape and dtype agree with its byte range, and the ranges
 * cover the data exactly, without gap or overlap. Nothing is allocated by a size that the file merely claims.
 */
import { z } from 'zod';
import { RekindleError } from '../../core/errors.ts';

export const bytesPerElement = { F32: 4, F16: 2, BF16: 2 } as const;
export type Dtype = keyof typeof bytesPerElement;

export interface TensorEntry {
  name: string;
  dtype: Dtype;
  shape: number[];
  /** Byte range in the data section. */
  begin: number;
  end: number;
}

export interface SafetensorsHeader {
  /** Ordered by position in the file. */
  tensors: TensorEntry[];
  metadata: Record<string, string>;
  /** Where the data section begins in the file. */
  dataStart: number;
}

/** Bytes of the length field. */
export const lengthFieldBytes = 8;
/** The format's own limit on the JSON part. */
const maxHeaderBytes = 100_000_000;

const size = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const entrySchema = z.strictObject({
  dtype: z.string(),
  shape: z.array(size),
  data_offsets: z.tuple([size, size]),
});
const metadataSchema = z.record(z.string(), z.string());

function refuse(file: string, problem: string): never {
  throw new RekindleError('ModelError', `${file}: ${problem}`, {
    hint: 'The file is damaged or is not a safetensors file; download or export it again.',
  });
}

function describe(error: z.ZodError): string {
  const issue = error.issues[0]!;
  return `${issue.path.join('.') || 'value'}: ${issue.message}`;
}

/**
 * The length of the JSON part, from the first 8 bytes of a file.
 * @throws RekindleError ModelError when the length does not fit the file.
 */
export function parseHeaderLength(field: Uint8Array, fileBytes: number, file: string): number {
  if (field.length < lengthFieldBytes) refuse(file, `${fileBytes} bytes, too short for a safetensors file`);
  const length = new DataView(field.buffer, field.byteOffset, lengthFieldBytes).getBigUint64(0, true);
  const available = fileBytes - lengthFieldBytes;
  if (length < 2n || length > BigInt(available) || length > BigInt(maxHeaderBytes)) {
    refuse(file, `header length ${length}, expected 2 to ${Math.min(available, maxHeaderBytes)} bytes`);
  }
  return Number(length);
}

function parseJson(json: Uint8Array, file: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json));
  } catch (error) {
    refuse(file, `header is not JSON (${String(error)})`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    refuse(file, 'header is not a JSON object');
  }
  return value as Record<string, unknown>;
}

/** Number of elements of a shape; Infinity when it exceeds what any file can hold. */
export function elementCount(shape: readonly number[]): number {
  return shape.includes(0) ? 0 : shape.reduce((product, extent) => product * extent, 1);
}

function parseEntry(name: string, value: unknown, file: string): TensorEntry {
  const parsed = entrySchema.safeParse(value);
  if (!parsed.success) refuse(file, `tensor '${name}', ${describe(parsed.error)}`);
  const { dtype, shape, data_offsets: offsets } = parsed.data;
  if (!Object.hasOwn(bytesPerElement, dtype)) {
    refuse(
      file,
      `tensor '${name}', dtype '${dtype}', expected one of ${Object.keys(bytesPerElement).join(', ')}`,
    );
  }
  const [begin, end] = offsets;
  const expected = elementCount(shape) * bytesPerElement[dtype as Dtype];
  if (end - begin !== expected) {
    refuse(
      file,
      `tensor '${name}', data_offsets [${begin}, ${end}], expected ${expected} bytes for ${dtype} [${shape.join(', ')}]`,
    );
  }
  return { name, dtype: dtype as Dtype, shape, begin, end };
}

/**
 * Reads and checks the JSON part of a header.
 * @param json exactly the JSON part
 * @throws RekindleError ModelError that names the file, the tensor and the field.
 */
export function parseHeader(json: Uint8Array, fileBytes: number, file: string): SafetensorsHeader {
  const { __metadata__: rawMetadata, ...rawTensors } = parseJson(json, file);
  const metadata = metadataSchema.safeParse(rawMetadata ?? {});
  if (!metadata.success) refuse(file, `__metadata__, ${describe(metadata.error)}`);

  const tensors = Object.entries(rawTensors).map(([name, value]) => parseEntry(name, value, file));
  tensors.sort((a, b) => a.begin - b.begin || a.end - b.end);
  let position = 0;
  for (const { name, begin, end } of tensors) {
    if (begin !== position) {
      const fault = begin < position ? 'overlaps the tensor before it' : 'leaves a gap before it';
      refuse(
        file,
        `tensor '${name}', data_offsets [${begin}, ${end}] ${fault}, expected to begin at ${position}`,
      );
    }
    position = end;
  }
  const dataStart = lengthFieldBytes + json.length;
  if (position !== fileBytes - dataStart) {
    refuse(file, `tensors take ${position} bytes, but the file holds ${fileBytes - dataStart} bytes of data`);
  }
  return { tensors, metadata: metadata.data, dataStart };
}

/**
 * The header of a file with these tensors, in this order, length field included. The JSON part is padded with spaces
 * so that the data section is 8-byte aligned.
 */
export function encodeHeader(
  tensors: readonly { name: string; shape: readonly number[] }[],
  metadata: Record<string, string>,
  dtype: Dtype,
): Uint8Array {
  const entries: [string, unknown][] = [];
  const metadataKeys = Object.keys(metadata).sort();
  if (metadataKeys.length > 0) {
    entries.push(['__metadata__', Object.fromEntries(metadataKeys.map((key) => [key, metadata[key]]))]);
  }
  let position = 0;
  for (const { name, shape } of tensors) {
    const end = position + elementCount(shape) * bytesPerElement[dtype];
    entries.push([name, { dtype, shape, data_offsets: [position, end] }]);
    position = end;
  }
  // Written entry by entry: an object would put integer-like names first.
  const json = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
  const text = Buffer.from(json);
  const padded = Math.ceil(text.length / 8) * 8;
  const header = Buffer.alloc(lengthFieldBytes + padded, ' ');
  header.writeBigUInt64LE(BigInt(padded));
  text.copy(header, lengthFieldBytes);
  return header;
}
