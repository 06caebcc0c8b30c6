/** Pre-tokenizers of tokenizer.json: they cut a text into the pieces that the model turns into tokens one by one. */
import { z } from 'zod';
import { toByteCharacters } from './byte-alphabet.ts';
import { makeComponent, settingsOf, type Make } from './component.ts';
import { compilePattern, patternSchema } from './pattern.ts';

export interface Piece {
  text: string;
  /** Whether it begins where the whole text begins. */
  first: boolean;
}
export type PreTokenizer = (piece: Piece) => Piece[];

/** A part of a text that the separator pattern matched, or that lies between two matches. */
interface Part {
  text: string;
  separator: boolean;
}

function partsOf(text: string, pattern: RegExp): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match[0] === '') continue;
    if (match.index > end) parts.push({ text: text.slice(end, match.index), separator: false });
    parts.push({ text: match[0], separator: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), separator: false });
  return parts;
}

const behaviors = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'] as const;
type Behavior = (typeof behaviors)[number];

/** What becomes of the separators. */
function arrange(parts: readonly Part[], behavior: Behavior): string[] {
  if (behavior === 'Isolated') return parts.map(({ text }) => text);
  if (behavior === 'Removed') return parts.map(({ text, separator }) => (separator ? '' : text));
  const pieces: string[] = [];
  parts.forEach(({ text, separator }, i) => {
    const before = parts[i - 1];
    const joins =
      behavior === 'Contiguous'
        ? before?.separator === separator
        : behavior === 'MergedWithPrevious'
          ? separator && before?.separator === false
          : !separator && before?.separator === true;
    if (joins) pieces[pieces.length - 1] += text;
    else pieces.push(text);
  });
  return pieces;
}

function splitter(pattern: RegExp, behavior: Behavior, invert = false): PreTokenizer {
  return ({ text, first }) => {
    const parts = partsOf(text, pattern).map((part) => ({ ...part, separator: part.separator !== invert }));
    return arrange(parts, behavior)
      .map((piece, i) => ({ text: piece, first: first && i === 0 }))
      .filter((piece) => piece.text !== '');
  };
}

/** The pattern of GPT-2, in the released code of Radford et al., 2019. */
const gpt2Pattern = compilePattern(
  { Regex: "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+" },
  'pre_tokenizer',
);

const byteLevelSchema = z.looseObject({
  add_prefix_space: z.boolean().default(true),
  use_regex: z.boolean().default(true),
});
const splitSchema = z.looseObject({
  pattern: patternSchema,
  behavior: z.enum(behaviors),
  invert: z.boolean().default(false),
});
const digitsSchema = z.looseObject({ individual_digits: z.boolean().default(false) });
const punctuationSchema = z.looseObject({ behavior: z.enum(behaviors).default('Isolated') });
const sequenceSchema = z.looseObject({ pretokenizers: z.array(z.unknown()) });
export const metaspaceSchema = z.looseObject({
  replacement: z.string().refine((text) => [...text].length === 1, 'expected one character'),
  prepend_scheme: z.enum(['always', 'first', 'never']).default('always'),
  split: z.boolean().default(true),
});

const kinds: Readonly<Record<string, Make<PreTokenizer>>> = {
  ByteLevel: (settings, at) => {
    const { add_prefix_space: prefix, use_regex: cuts } = settingsOf(byteLevelSchema, settings, at);
    const cut = splitter(gpt2Pattern, 'Isolated');
    return ({ text, first }) => {
      const piece = { text: prefix && !text.startsWith(' ') ? ` ${text}` : text, first };
      return (cuts ? cut(piece) : [piece]).map((one) => ({ ...one, text: toByteCharacters(one.text) }));
    };
  },
  Split: (settings, at) => {
    const { pattern, behavior, invert } = settingsOf(splitSchema, settings, at);
    return splitter(compilePattern(pattern, `${at}.pattern`), behavior, invert);
  },
  Digits: (settings, at) => {
    const { individual_digits: individual } = settingsOf(digitsSchema, settings, at);
    return splitter(/\p{N}/gu, individual ? 'Isolated' : 'Contiguous');
  },
  Punctuation: (settings, at) =>
    splitter(/[\p{P}!-/:-@[-`{-~]/gu, settingsOf(punctuationSchema, settings, at).behavior),
  WhitespaceSplit: () => splitter(/\p{White_Space}/gu, 'Removed'),
  Whitespace: () => {
    const word = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}';
    return splitter(new RegExp(`[${word}]+|[^${word}\\p{White_Space}]+`, 'gu'), 'Removed', true);
  },
  Metaspace: (settings, at) => {
    const { replacement, prepend_scheme: scheme, split } = settingsOf(metaspaceSchema, settings, at);
    const cut = splitter(compilePattern({ String: replacement }, at), 'MergedWithNext');
    return ({ text, first }) => {
      const spaced = text.replaceAll(' ', replacement);
      const prepends = scheme === 'always' || (scheme === 'first' && first);
      const piece = {
        text: prepends && !spaced.startsWith(replacement) ? replacement + spaced : spaced,
        first,
      };
      return split ? cut(piece) : [piece];
    };
  },
  Sequence: (settings, at) => {
    const steps = settingsOf(sequenceSchema, settings, at).pretokenizers.map((step, i) =>
      makePreTokenizer(step, `${at}.pretokenizers.${i}`),
    );
    return (piece) => steps.reduce((pieces, step) => pieces.flatMap(step), [piece]);
  },
};

/** @throws RekindleError ModelError for a kind that is not supported. */
export function makePreTokenizer(value: unknown, at: string): PreTokenizer {
  return value == null ? (piece) => [piece] : makeComponent(value, at, kinds);
}
