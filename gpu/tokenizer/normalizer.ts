/** Normalizers of tokenizer.json: what is done to a text before it is cut into pieces. */
import { z } from 'zod';
import { makeComponent, settingsOf, type Make } from './component.ts';
import { compilePattern, patternSchema } from './pattern.ts';
import { precompiledNormalizer } from './precompiled-normalizer.ts';

export type Normalizer = (text: string) => string;

const unicodeForm =
  (form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD'): Make<Normalizer> =>
  () =>
  (text) =>
    text.normalize(form);

const replaceSchema = z.looseObject({ pattern: patternSchema, content: z.string() });
const prependSchema = z.looseObject({ prepend: z.string() });
const stripSchema = z.looseObject({ strip_left: z.boolean(), strip_right: z.boolean() });
const precompiledSchema = z.looseObject({ precompiled_charsmap: z.string() });
const sequenceSchema = z.looseObject({ normalizers: z.array(z.unknown()) });

const kinds: Readonly<Record<string, Make<Normalizer>>> = {
  NFC: unicodeForm('NFC'),
  NFD: unicodeForm('NFD'),
  NFKC: unicodeForm('NFKC'),
  NFKD: unicodeForm('NFKD'),
  // Character by character: a final sigma is not told from another.
  Lowercase: () => (text) => Array.from(text, (character) => character.toLowerCase()).join(''),
  StripAccents: () => (text) => text.replace(/\p{M}/gu, ''),
  Strip: (settings, at) => {
    const { strip_left: left, strip_right: right } = settingsOf(stripSchema, settings, at);
    return (text) => {
      const stripped = left ? text.replace(/^\p{White_Space}+/u, '') : text;
      return right ? stripped.replace(/\p{White_Space}+$/u, '') : stripped;
    };
  },
  Replace: (settings, at) => {
    const { pattern, content } = settingsOf(replaceSchema, settings, at);
    const expression = compilePattern(pattern, `${at}.pattern`);
    return (text) => text.replace(expression, () => content);
  },
  Prepend: (settings, at) => {
    const { prepend } = settingsOf(prependSchema, settings, at);
    return (text) => (text === '' ? text : prepend + text);
  },
  Precompiled: (settings, at) =>
    precompiledNormalizer(settingsOf(precompiledSchema, settings, at).precompiled_charsmap, at),
  Sequence: (settings, at) => {
    const steps = settingsOf(sequenceSchema, settings, at).normalizers.map((step, i) =>
      makeNormalizer(step, `${at}.normalizers.${i}`),
    );
    return (text) => steps.reduce((normalized, step) => step(normalized), text);
  },
};

/** @throws RekindleError ModelError for a kind that is not supported. */
export function makeNormalizer(value: unknown, at: string): Normalizer {
  return value == null ? (text) => text : makeComponent(value, at, kinds);
}
