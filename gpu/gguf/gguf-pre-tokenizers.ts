/** What `tokenizer.ggml.pre` stands for: how byte-level tokenizers normalize a text and cut it into pieces. */
interface Pieces {
  normalizer: object | null;
  preTokenizer: object;
  /** Whether a piece that is a token is never cut, whatever the merges say. */
  ignoreMerges: boolean;
}

const byteLevel = (use_regex: boolean): object => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex,
});
const sequence = (...pretokenizers: object[]): object => ({ type: 'Sequence', pretokenizers });
const split = (Regex: string): object =>
  sequence({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false }, byteLevel(false));

/** The pattern of the cl100k tokenizer, with runs of digits cut as each family does. */
const words = (digits: string): string =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const [upper, lower] = ['[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]', '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'];
const tekken =
  `[^\\r\\n\\p{L}\\p{N}]?${upper}*${lower}+|[^\\r\\n\\p{L}\\p{N}]?${upper}+${lower}*|` +
  '\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';

const gpt2: Pieces = { normalizer: null, preTokenizer: byteLevel(true), ignoreMerges: false };
const singleDigits: Pieces = {
  ...gpt2,
  preTokenizer: sequence({ type: 'Digits', individual_digits: true }, byteLevel(true)),
};
const llama3: Pieces = { normalizer: null, preTokenizer: split(words('\\p{N}{1,3}')), ignoreMerges: true };
const qwen2: Pieces = {
  normalizer: { type: 'NFC' },
  preTokenizer: split(words('\\p{N}')),
  ignoreMerges: false,
};

export const preTokenizers: Readonly<Record<string, Pieces>> = {
  'gpt-2': gpt2,
  smollm: singleDigits,
  starcoder: singleDigits,
  'llama-bpe': llama3,
  'llama-v3': llama3,
  llama3,
  qwen2,
  'deepseek-r1-qwen': qwen2,
  tekken: { normalizer: null, preTokenizer: split(tekken), ignoreMerges: true },
};
