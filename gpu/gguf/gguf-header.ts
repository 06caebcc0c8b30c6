/**
 * The header of a GGUF file, versions 2 and 3: metadata by key, then the table of tensors, then, aligned, their bytes. A header
 * that this module hands out is sound: every tensor is of a known type and lies in the file, and no two overlap.
 */
import { GgufCursor } from './gguf-cursor.ts';
import type { Refuse } from './gguf-error.ts';
import { ggufTypes, type GgufType } from './gguf-types.ts';

export type GgufValue = number | string | boolean | GgufValue[];
export type GgufMetadata = ReadonlyMap<string, GgufValue>;

export interface GgufTensor {
  name: string;
  type: GgufType;
  /** Row-major, the last extent that of a row: the reverse of the file's order. */
  shape: number[];
  /** Byte position in the file. */
  start: number;
  bytes: number;
}

export interface GgufHeader {
  metadata: GgufMetadata;
  tensors: GgufTensor[];
}

const magic = 0x4655_4747; // "GGUF"
const mostDimensions = 4;
const deepestArray = 2;

/** Readers of the value types by their number, with the bytes of the shortest value; 9 is an array. */
const valueTypes: Readonly<Record<number, [least: number, read: (cursor: GgufCursor) => GgufValue]>> = {
  0: [1, (cursor) => cursor.u8()],
  1: [1, (cursor) => cursor.i8()],
  2: [2, (cursor) => cursor.u16()],
  3: [2, (cursor) => cursor.i16()],
  4: [4, (cursor) => cursor.u32()],
  5: [4, (cursor) => cursor.i32()],
  6: [4, (cursor) => cursor.f32()],
  7: [1, (cursor) => cursor.bool()],
  8: [8, (cursor) => cursor.string()],
  10: [8, (cursor) => cursor.u64()],
  11: [8, (cursor) => cursor.i64()],
  12: [8, (cursor) => cursor.f64()],
};
const arrayType = 9;

function readValue(cursor: GgufCursor, type: number, key: string, depth: number, refuse: Refuse): GgufValue {
  const plain = valueTypes[type];
  if (plain) return plain[1](cursor);
  if (type !== arrayType || depth === deepestArray) {
    return refuse(
      `metadata ${key} has the value type ${type}${depth > 0 ? ' in an array' : ''}, which is not known`,
    );
  }
  const elementType = cursor.u32();
  const count = cursor.count(`values of ${key}`, valueTypes[elementType]?.[0] ?? 12);
  const values: GgufValue[] = [];
  for (let i = 0; i < count; i++) values.push(readValue(cursor, elementType, key, depth + 1, refuse));
  return values;
}

function readMetadata(cursor: GgufCursor, count: number, refuse: Refuse): GgufMetadata {
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < count; i++) {
    const key = cursor.string();
    if (metadata.has(key)) refuse(`has the metadata ${key} twice`);
    metadata.set(key, readValue(cursor, cursor.u32(), key, 0, refuse));
  }
  return metadata;
}

interface TableEntry extends Omit<GgufTensor, 'start'> {
  offset: number;
}

function readTableEntry(cursor: GgufCursor, refuse: Refuse): TableEntry {
  const name = cursor.string();
  const dimensions = cursor.u32();
  if (dimensions < 1 || dimensions > mostDimensions) {
    refuse(`tensor '${name}' has ${dimensions} dimensions, expected 1 to ${mostDimensions}`);
  }
  const shape = Array.from({ length: dimensions }, () => cursor.u64()).reverse();
  const typeNumber = cursor.u32();
  const type = ggufTypes[typeNumber];
  if (type === undefined) {
    const known = Object.values(ggufTypes).map((one) => one.name);
    return refuse(
      `tensor '${name}' is of type ${typeNumber}, supported are ${known.join(', ')}`,
      'Quantize the model to one of these types, or take its safetensors.',
    );
  }
  if (shape.at(-1)! % type.blockValues !== 0) {
    refuse(
      `tensor '${name}' has rows of ${shape.at(-1)}, expected a multiple of ${type.blockValues} (${type.name})`,
    );
  }
  const values = shape.includes(0) ? 0 : shape.reduce((product, extent) => product * extent, 1);
  return { name, type, shape, offset: cursor.u64(), bytes: (values / type.blockValues) * type.blockBytes };
}

function placeTensors(
  entries: TableEntry[],
  dataStart: number,
  fileBytes: number,
  refuse: Refuse,
): GgufTensor[] {
  const tensors = entries.map(({ offset, ...tensor }) => ({ ...tensor, start: dataStart + offset }));
  const byPlace = [...tensors].sort((a, b) => a.start - b.start);
  let end = dataStart;
  for (const { name, start, bytes } of byPlace) {
    if (start < end) refuse(`tensor '${name}' overlaps the one before it`);
    end = start + bytes;
    if (!(end <= fileBytes))
      refuse(`tensor '${name}' ends at byte ${end}, but the file has ${fileBytes} bytes`);
  }
  return tensors;
}

/**
 * @param bytes the beginning of the file
 * @throws NeedsMoreBytes when the header is longer; RekindleError ModelError when it is not sound
 */
export function parseGgufHeader(bytes: Uint8Array, fileBytes: number, refuse: Refuse): GgufHeader {
  const cursor = new GgufCursor(bytes, fileBytes, refuse);
  if (fileBytes < 24 || cursor.u32() !== magic) refuse('is not a GGUF file');
  const version = cursor.u32();
  if (version !== 2 && version !== 3)
    refuse(`is GGUF version ${version}, supported are 2 and 3 (little-endian)`);
  const tensorCount = cursor.count('tensors', 32);
  const metadata = readMetadata(cursor, cursor.count('metadata entries', 13), refuse);
  const entries: TableEntry[] = [];
  const names = new Set<string>();
  for (let i = 0; i < tensorCount; i++) {
    const entry = readTableEntry(cursor, refuse);
    if (names.has(entry.name)) refuse(`has tensor '${entry.name}' twice`);
    names.add(entry.name);
    entries.push(entry);
  }
  const alignment = metadata.get('general.alignment') ?? 32;
  if (typeof alignment !== 'number' || alignment < 1 || alignment > 65_536) {
    return refuse(`general.alignment is ${JSON.stringify(alignment)}, expected 1 to 65536`);
  }
  const dataStart = Math.ceil(cursor.position / alignment) * alignment;
  return { metadata, tensors: placeTensors(entries, dataStart, fileBytes, refuse) };
}
