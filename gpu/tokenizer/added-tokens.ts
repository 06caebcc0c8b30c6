/**
 * Added tokens: texts such as `<|im_end|>` that are one token wherever they stand. They are found before anything else is done
 * to a text; those marked `normalized` are found, in their normalized form, after normalization.
 */
import { z } from 'zod';
import { idLimit } from './bpe.ts';
import type { Normalizer } from './normalizer.ts';
import { escapeLiteral } from './pattern.ts';

export const addedTokenSchema = z.looseObject({
  id: z.number().int().nonnegative().max(idLimit),
  content: z.string().min(1),
  special: z.boolean(),
  single_word: z.boolean().default(false),
  /** Whether white space before the token is part of it. */
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  normalized: z.boolean().default(true),
});
export type AddedToken = z.infer<typeof addedTokenSchema>;

/** A stretch of text, or an added token. */
export type Section = { text: string; first: boolean } | { id: number };

const endsWithWord = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u;
const startsWithWord = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
const spaceAtStart = /^\p{White_Space}*/u;
const whiteSpace = /\p{White_Space}/u;

function trimmedEnd(text: string, end: number, from: number): number {
  let position = end;
  while (position > from && whiteSpace.test(text[position - 1]!)) position--;
  return position;
}

/** Finds a set of tokens in texts: the leftmost, and of those the longest. */
class Finder {
  readonly #tokens: ReadonlyMap<string, AddedToken>;
  readonly #pattern: RegExp | undefined;

  constructor(tokens: ReadonlyMap<string, AddedToken>) {
    this.#tokens = tokens;
    const longestFirst = [...tokens.keys()].filter((text) => text !== '').sort((a, b) => b.length - a.length);
    this.#pattern =
      longestFirst.length > 0 ? new RegExp(longestFirst.map(escapeLiteral).join('|'), 'gu') : undefined;
  }

  split(text: string): Section[] {
    if (!this.#pattern) return [{ text, first: true }];
    const sections: Section[] = [];
    let done = 0;
    for (const match of text.matchAll(this.#pattern)) {
      const token = this.#tokens.get(match[0])!;
      let [start, end] = [match.index, match.index + match[0].length];
      // The space after the token before it may reach into this one.
      if (start < done) continue;
      if (
        token.single_word &&
        (endsWithWord.test(text.slice(0, start)) || startsWithWord.test(text.slice(end)))
      )
        continue;
      if (token.lstrip) start = trimmedEnd(text, start, done);
      if (token.rstrip) end += spaceAtStart.exec(text.slice(end))![0].length;
      if (start > done) sections.push({ text: text.slice(done, start), first: done === 0 });
      sections.push({ id: token.id });
      done = end;
    }
    if (done < text.length) sections.push({ text: text.slice(done), first: done === 0 });
    return sections;
  }
}

/** A function that cuts a text into added tokens and normalized stretches between them. */
export function addedTokenSplitter(
  tokens: readonly AddedToken[],
  normalize: Normalizer,
): (text: string) => Section[] {
  const finder = (normalized: boolean): Finder =>
    new Finder(
      new Map(
        tokens
          .filter((token) => token.normalized === normalized)
          .map((token) => [normalized ? normalize(token.content) : token.content, token]),
      ),
    );
  const [asWritten, normalized] = [finder(false), finder(true)];
  return (text) =>
    asWritten.split(text).flatMap((section) => {
      if ('id' in section) return [section];
      const sections = normalized.split(normalize(section.text));
      return sections.map((one) => ('id' in one ? one : { ...one, first: one.first && section.first }));
    });
}
