/** Decoders of tokenizer.json: they turn tokens back into text. Each step takes and gives a list of strings. */
import { z } from 'zod';
import { fromByteCharacters } from './byte-alphabet.ts';
import { makeComponent, settingsOf, type Make } from './component.ts';
import { compilePattern, patternSchema } from './pattern.ts';
import { metaspaceSchema } from './pre-tokenizer.ts';

export type Decoder = (tokens: readonly string[]) => string[];

const lossy = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function byteLevel(tokens: readonly string[]): string[] {
  return [lossy.decode(Buffer.concat(tokens.map(fromByteCharacters)))];
}

/** Tokens such as `<0xE2>` are bytes; in a run of them that is not UTF-8, each becomes a replacement character. */
function byteFallback(tokens: readonly string[]): string[] {
  const decoded: string[] = [];
  let run: number[] = [];
  const endRun = (): void => {
    if (run.length === 0) return;
    try {
      decoded.push(strict.decode(Uint8Array.from(run)));
    } catch {
      decoded.push(...run.map(() => '\ufffd'));
    }
    run = [];
  };
  for (const token of tokens) {
    const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(token);
    if (byte) run.push(parseInt(byte[1]!, 16));
    else {
      endRun();
      decoded.push(token);
    }
  }
  endRun();
  return decoded;
}

const replaceSchema = z.looseObject({ pattern: patternSchema, content: z.string() });
const stripSchema = z.looseObject({
  content: z.string(),
  start: z.number().int().nonnegative(),
  stop: z.number().int().nonnegative(),
});
const sequenceSchema = z.looseObject({ decoders: z.array(z.unknown()) });

const kinds: Readonly<Record<string, Make<Decoder>>> = {
  ByteLevel: () => byteLevel,
  ByteFallback: () => byteFallback,
  Fuse: () => (tokens) => [tokens.join('')],
  Replace: (settings, at) => {
    const { pattern, content } = settingsOf(replaceSchema, settings, at);
    const expression = compilePattern(pattern, `${at}.pattern`);
    return (tokens) => tokens.map((token) => token.replace(expression, () => content));
  },
  Strip: (settings, at) => {
    const { content, start, stop } = settingsOf(stripSchema, settings, at);
    return (tokens) =>
      tokens.map((token) => {
        let [from, to] = [0, token.length];
        while (from < start && token[from] === content) from++;
        while (token.length - to < stop && to > from && token[to - 1] === content) to--;
        return token.slice(from, to);
      });
  },
  Metaspace: (settings, at) => {
    const { replacement, prepend_scheme: scheme } = settingsOf(metaspaceSchema, settings, at);
    return (tokens) =>
      tokens.map((token, i) => token.replaceAll(replacement, i === 0 && scheme !== 'never' ? '' : ' '));
  },
  Sequence: (settings, at) => {
    const steps = settingsOf(sequenceSchema, settings, at).decoders.map((step, i) =>
      makeDecoder(step, `${at}.decoders.${i}`),
    );
    return (tokens) => steps.reduce<string[]>((decoded, step) => step(decoded), [...tokens]);
  },
};

/** @throws RekindleError ModelError for a kind that is not supported. */
export function makeDecoder(value: unknown, at: string): Decoder {
  return value == null ? (tokens) => [tokens.join(' ')] : makeComponent(value, at, kinds);
}
