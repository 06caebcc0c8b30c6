import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RekindleError } from '../../core/errors.ts';
import { ggufBytes, type WrittenTensor } from '../../tests/fixtures/gguf-writer.ts';
import { tinyGgufMetadata } from '../../tests/fixtures/tiny-gguf.ts';
import { NeedsMoreBytes } from './gguf-cursor.ts';
import { refusing } from './gguf-error.ts';
import { parseGgufHeader, type GgufHeader } from './gguf-header.ts';

const tensor = (name: string, values: number): WrittenTensor => ({
  name,
  shape: [values / 4, 4],
  type: 0,
  bytes: new Uint8Array(values * 4),
});
const file = ggufBytes(tinyGgufMetadata(), [tensor('a', 8), tensor('b', 16)]);
const parse = (bytes: Uint8Array, size = bytes.length): GgufHeader =>
  parseGgufHeader(bytes, size, refusing('m.gguf'));

/** The file with some bytes replaced. */
function changed(at: number, bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(file);
  copy.set(bytes, at);
  return copy;
}
const largest = Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 255);

describe('parseGgufHeader', () => {
  it('gives metadata of every type and tensors with their place, of versions 2 and 3', () => {
    for (const version of [2, 3]) {
      const { metadata, tensors } = parse(
        ggufBytes(tinyGgufMetadata(), [tensor('a', 8), tensor('b', 16)], version),
      );
      expect(metadata.get('general.architecture')).toBe('llama');
      expect(metadata.get('llama.rope.freq_base')).toBe(10_000);
      expect(metadata.get('tokenizer.ggml.add_bos_token')).toBe(false);
      expect(metadata.get('tokenizer.ggml.tokens')).toContain('<|end|>');
      expect(tensors).toMatchObject([
        { name: 'a', shape: [2, 4], bytes: 32 },
        { name: 'b', shape: [4, 4], bytes: 64, start: file.length - 64 },
      ]);
    }
  });

  it('asks for more bytes when the header goes on', () => {
    expect(() => parse(file.subarray(0, 100), file.length)).toThrow(NeedsMoreBytes);
  });

  it.each([
    ['another kind of file', changed(0, Buffer.from('GGML')), 'is not a GGUF file'],
    ['an unknown version', changed(4, Uint8Array.of(1)), 'is GGUF version 1'],
    ['a tensor count beyond the file', changed(8, largest), 'claims 18446744073709552000 tensors'],
    ['a metadata count beyond the file', changed(16, largest), 'metadata entries, but has room'],
    ['a key longer than the file', changed(24, largest), 'ends within its header'],
    ['a file that is cut', file.subarray(0, file.length - 1), "tensor 'b' ends at byte"],
    ['an empty file', new Uint8Array(0), 'is not a GGUF file'],
    ['the same tensor twice', ggufBytes({}, [tensor('a', 8), tensor('a', 8)]), "has tensor 'a' twice"],
    [
      'an unknown tensor type',
      ggufBytes({}, [{ ...tensor('a', 8), type: 17 }]),
      "tensor 'a' is of type 17, supported are F32",
    ],
    [
      'rows that are no whole blocks',
      ggufBytes({}, [{ ...tensor('a', 8), type: 8 }]),
      'rows of 4, expected a multiple of 32 (Q8_0)',
    ],
    ['a senseless alignment', ggufBytes({ 'general.alignment': { u32: 0 } }, []), 'general.alignment is 0'],
  ])('refuses %s', (_, bytes, message) => {
    expect(() => parse(bytes)).toThrow(message);
    expect(() => parse(bytes)).toThrow(RekindleError);
  });

  it('survives any damage: what it accepts lies in the file', () => {
    const damage = fc.array(fc.tuple(fc.nat(file.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 });
    const cut = fc.nat(file.length);
    fc.assert(
      fc.property(damage, fc.option(cut, { nil: file.length }), (changes, length) => {
        const bytes = Uint8Array.from(file.subarray(0, length));
        for (const [at, value] of changes) if (at < length) bytes[at] = value;
        try {
          for (const { start, bytes: size } of parse(bytes).tensors)
            expect(start + size).toBeLessThanOrEqual(length);
        } catch (error) {
          expect(error).toBeInstanceOf(RekindleError);
        }
      }),
      { numRuns: 3000 },
    );
  });
});
