/**
 * The normalization table that SentencePiece compiles into a model: a double-array trie (Aoe, "An Efficient Digital Search
 * Algorithm by Using a Double-Array Structure", 1989; here in the packing of darts-clone) from UTF-8 strings to offsets into a
 * blob of zero-terminated replacements. It is applied as the tokenizers library does: to a grapheme of at most 5 bytes as a
 * whole, by the shortest entry that begins it, and else character by character.
 */
import { refuse } from './component.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const longestGrapheme = 5;

class CharacterMap {
  readonly #units: Uint32Array;
  readonly #replacements: Uint8Array;

  constructor(units: Uint32Array, replacements: Uint8Array) {
    this.#units = units;
    this.#replacements = replacements;
  }

  /** The replacement by the shortest entry that begins the text. */
  replacement(text: Uint8Array): string | undefined {
    let position = this.#offset(this.#units[0] ?? 0);
    for (const byte of text) {
      if (byte === 0) return undefined;
      position ^= byte;
      const unit = this.#units[position];
      // The label of a unit is its low byte, and the top bit is set in units that hold a value instead.
      if (unit === undefined || (unit & 0x8000_00ff) !== byte) return undefined;
      position ^= this.#offset(unit);
      const hasValue = (unit >>> 8) & 1;
      if (hasValue) return this.#read((this.#units[position] ?? 0) & 0x7fff_ffff);
    }
    return undefined;
  }

  /** From a unit to where its children are: 21 bits, or 29 bits in steps of 256. */
  #offset(unit: number): number {
    return (unit >>> 10) << ((unit & 0x200) >>> 6);
  }

  #read(start: number): string {
    const end = this.#replacements.indexOf(0, start);
    return decoder.decode(this.#replacements.subarray(start, end < 0 ? undefined : end));
  }
}

function parseCharacterMap(base64: string, at: string): CharacterMap {
  const bytes = Buffer.from(base64, 'base64');
  const trieBytes = bytes.length < 4 ? Infinity : bytes.readUInt32LE(0);
  if (trieBytes % 4 !== 0 || trieBytes > bytes.length - 4) {
    refuse(`${at}.precompiled_charsmap`, `has ${bytes.length} bytes, too few for its trie of ${trieBytes}`);
  }
  const units = Uint32Array.from({ length: trieBytes / 4 }, (_, i) => bytes.readUInt32LE(4 + 4 * i));
  return new CharacterMap(units, bytes.subarray(4 + trieBytes));
}

/** @throws RekindleError ModelError when the table is not sound. */
export function precompiledNormalizer(base64: string, at: string): (text: string) => string {
  const map = parseCharacterMap(base64, at);
  const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });
  const normalizeGrapheme = (grapheme: string): string => {
    const bytes = encoder.encode(grapheme);
    const whole = bytes.length <= longestGrapheme ? map.replacement(bytes) : undefined;
    if (whole !== undefined) return whole;
    return Array.from(grapheme, (character) => map.replacement(encoder.encode(character)) ?? character).join(
      '',
    );
  };
  return (text) => Array.from(segmenter.segment(text), ({ segment }) => normalizeGrapheme(segment)).join('');
}
