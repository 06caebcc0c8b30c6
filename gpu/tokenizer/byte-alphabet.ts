/**
 * The alphabet of byte-level tokenizers: each of the 256 bytes is written as one printable character, its own where it has one
 * and else one from U+0100 on (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, the released code).
 */
const isPrintable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;

let next = 0x100;
/** The character of each byte. */
export const byteCharacters: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  String.fromCharCode(isPrintable(byte) ? byte : next++),
);
const bytesOfCharacters = new Map(byteCharacters.map((character, byte) => [character, byte]));

const encoder = new TextEncoder();

/** The UTF-8 bytes of a text, written in the alphabet. */
export function toByteCharacters(text: string): string {
  let written = '';
  for (const byte of encoder.encode(text)) written += byteCharacters[byte]!;
  return written;
}

/** The bytes that a token stands for; those of its own text when it has a character outside the alphabet. */
export function fromByteCharacters(token: string): Uint8Array {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = bytesOfCharacters.get(token[i]!);
    if (byte === undefined) return encoder.encode(token);
    bytes[i] = byte;
  }
  return bytes;
}
