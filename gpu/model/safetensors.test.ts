import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isCause } from '../../core/errors.ts';
import { halfToFloat } from './float-formats.ts';
import { readSafetensors, writeSafetensors, type Tensors } from './safetensors.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rekindle-safetensors-'));
});
afterAll(() => rm(folder, { recursive: true }));

const inFolder = (name: string) => join(folder, name);

/** A file with this JSON as header and this many zero bytes of data. */
async function fileOf(header: unknown, dataBytes: number): Promise<string> {
  const json = Buffer.isBuffer(header) ? header : Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const path = inFolder('hostile.safetensors');
  await writeFile(path, Buffer.concat([length, json, Buffer.alloc(dataBytes)]));
  return path;
}

const shapes = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 });
const tensorArbitrary = shapes.chain((shape) => {
  const elements = shape.reduce((a, b) => a * b, 1);
  return fc.float32Array({ minLength: elements, maxLength: elements }).map((data) => ({ shape, data }));
});
const tensorsArbitrary: fc.Arbitrary<Tensors> = fc
  .uniqueArray(fc.tuple(fc.string({ unit: 'grapheme' }), tensorArbitrary), {
    selector: ([name]) => name,
    maxLength: 5,
  })
  .map((entries) => new Map(entries.filter(([name]) => name !== '__metadata__')));

describe('writeSafetensors and readSafetensors', () => {
  it('return every name, shape, bit pattern and metadata string that was written', async () => {
    const metadata = fc.dictionary(fc.string(), fc.string(), { maxKeys: 3, noNullPrototype: true });
    await fc.assert(
      fc.asyncProperty(tensorsArbitrary, metadata, async (tensors, strings) => {
        const path = inFolder('round-trip.safetensors');
        await writeSafetensors(path, tensors, strings);
        const read = await readSafetensors(path);
        expect(read.metadata).toEqual(strings);
        expect([...read.tensors.keys()].sort()).toEqual([...tensors.keys()].sort());
        for (const [name, { shape, data }] of tensors) {
          const back = read.tensors.get(name)!;
          expect(back.shape).toEqual(shape);
          expect(Buffer.from(back.data.buffer).equals(Buffer.from(data.slice().buffer)), name).toBe(true);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('write the same bytes whatever the order of the map, and tell their hash', async () => {
    const a = { shape: [2], data: Float32Array.of(1, 2) };
    const b = { shape: [1, 1], data: Float32Array.of(-0) };
    const first = await writeSafetensors(inFolder('ab'), new Map([['a', a], ['b', b]]), { x: '1', y: '2' }); // prettier-ignore
    const second = await writeSafetensors(inFolder('ba'), new Map([['b', b], ['a', a]]), { y: '2', x: '1' }); // prettier-ignore
    const bytes = await readFile(inFolder('ab'));
    expect(second).toEqual(first);
    expect(first).toEqual({
      hash: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
      size: bytes.length,
    });
    expect(Number(bytes.readBigUInt64LE()) % 8).toBe(0);
  });

  it('write part of a shared buffer without its neighbours', async () => {
    const flat = Float32Array.of(9, 1, 2, 9);
    const path = inFolder('view.safetensors');
    await writeSafetensors(path, new Map([['w', { shape: [2], data: flat.subarray(1, 3) }]]));
    expect((await readSafetensors(path)).tensors.get('w')!.data).toEqual(Float32Array.of(1, 2));
  });

  it('name the file that cannot be written', async () => {
    await expect(writeSafetensors(inFolder('no/such/folder'), new Map())).rejects.toMatchObject({
      kind: 'StoreError',
      message: expect.stringContaining('no/such/folder cannot be written: ENOENT') as string,
    });
  });

  it('refuse to write values that do not fill their shape', async () => {
    const broken: Tensors = new Map([['w', { shape: [3], data: new Float32Array(2) }]]);
    await expect(writeSafetensors(inFolder('short'), broken)).rejects.toThrow("tensor 'w' has 2 values");
  });
});

describe('halfToFloat', () => {
  // Values from IEEE 754-2008, binary16: largest, smallest normal, smallest and largest subnormal, 1/3.
  it.each([
    [0x7bff, 65504],
    [0x0400, 2 ** -14],
    [0x0001, 2 ** -24],
    [0x03ff, 1023 * 2 ** -24],
    [0x3555, 0.333251953125],
    [0xc000, -2],
    [0x8000, -0],
    [0xfc00, -Infinity],
    [0x7e00, NaN],
  ])('gives the value of 0x%s', (bits, value) => expect(halfToFloat(bits)).toBe(value));
});

describe('a file that is not sound is refused with its name and the field at fault', () => {
  const entry = (shape: unknown, begin: unknown, end: unknown, dtype: unknown = 'F32') => ({
    dtype,
    shape,
    data_offsets: [begin, end],
  });
  it.each<[string, unknown, number, RegExp]>([
    ['no JSON', Buffer.from('{"a":'), 0, /not JSON/],
    ['JSON that is no object', '[1, 2]', 0, /not a JSON object/],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 0, /not JSON/],
    ['an unknown dtype', { a: entry([1], 0, 8, 'F64') }, 8, /tensor 'a', dtype 'F64', expected one of F32/],
    ['an inherited dtype name', { a: entry([1], 0, 4, 'toString') }, 4, /dtype 'toString'/],
    ['an extra key', { a: { ...entry([1], 0, 4), strides: [1] } }, 4, /tensor 'a'.*strides/],
    ['a negative extent', { a: entry([-1], 0, 4) }, 4, /tensor 'a', shape\.0/],
    ['a fractional offset', { a: entry([1], 0, 4.5) }, 4, /tensor 'a', data_offsets\.1/],
    ['a range of the wrong size', { a: entry([2], 0, 4) }, 4, /\[0, 4\], expected 8 bytes for F32 \[2\]/],
    ['a reversed range', { a: entry([1], 4, 0) }, 4, /\[4, 0\]/],
    ['an overflowing shape', { a: entry([2 ** 52, 2 ** 52, 2 ** 52], 0, 4) }, 4, /tensor 'a'/],
    [
      'a claim of terabytes',
      { a: entry([2 ** 40], 0, 2 ** 42) },
      4,
      /tensors take 4398046511104 bytes.* 4 bytes/,
    ],
    ['overlapping tensors', { a: entry([2], 0, 8), b: entry([1], 4, 8) }, 8, /tensor 'b'.*overlaps/],
    ['a gap', { a: entry([1], 0, 4), b: entry([1], 8, 12) }, 12, /tensor 'b'.*gap/],
    ['bytes left over', { a: entry([1], 0, 4) }, 5, /tensors take 4 bytes, but the file holds 5/],
    ['metadata that is not text', { __metadata__: { format: 1 } }, 0, /__metadata__, format/],
  ])('%s', async (_, header, dataBytes, message) => {
    const path = await fileOf(header, dataBytes);
    const error: unknown = await readSafetensors(path).catch((thrown: unknown) => thrown);
    expect(isCause(error, 'ModelError')).toBe(true);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toContain(path);
  });

  it.each([
    ['an empty file', Buffer.alloc(0), /0 bytes, too short/],
    ['a length field cut short', Buffer.alloc(7), /7 bytes, too short/],
    [
      'a header a little longer than the file',
      Buffer.from('03000000000000007b7d', 'hex'),
      /header length 3, expected 2 to 2/,
    ],
    [
      'a header beyond any file',
      Buffer.from('ffffffffffffff7f7b7d', 'hex'),
      /header length 9223372036854775807/,
    ],
  ])('%s', async (_, bytes, message) => {
    const path = inFolder('cut.safetensors');
    await writeFile(path, bytes);
    await expect(readSafetensors(path)).rejects.toThrow(message);
  });

  it('a missing file, or a folder', async () => {
    await expect(readSafetensors(inFolder('absent'))).rejects.toThrow(/absent cannot be opened: ENOENT/);
    await expect(readSafetensors(folder)).rejects.toMatchObject({ kind: 'ModelError' });
  });

  it('any bytes, and any mutation of a good file: either tensors no larger than the file, or a ModelError', async () => {
    const good = inFolder('good.safetensors');
    await writeSafetensors(good, new Map([['a', { shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) }]]), {
      k: 'v',
    });
    const bytes = await readFile(good);
    const mutated = fc
      .array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
      .map((edits) => {
        const copy = Uint8Array.from(bytes);
        for (const [at, value] of edits) copy[at] = value;
        return copy;
      });
    const path = inFolder('fuzz.safetensors');
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 64 }), mutated), async (content) => {
        await writeFile(path, content);
        try {
          const { tensors } = await readSafetensors(path);
          for (const { data } of tensors.values())
            expect(data.length).toBeLessThanOrEqual(content.length / 2);
        } catch (error) {
          expect(isCause(error, 'ModelError')).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });
});
