/**
 * Patterns of tokenizer.json, which are written for the Oniguruma regex engine, as JavaScript regular expressions that match the
 * same text. The two differ in their classes (`\s` has U+0085 and not U+FEFF), in escapes, and in `(?i:…)`.
 */
import { z } from 'zod';
import { refuse } from './component.ts';

export const patternSchema = z.union([z.object({ String: z.string() }), z.object({ Regex: z.string() })]);
export type Pattern = z.infer<typeof patternSchema>;

/** Oniguruma's classes, as they stand inside brackets. */
const classes: Readonly<Record<string, string>> = {
  s: '\\p{White_Space}',
  S: '\\P{White_Space}',
  d: '\\p{Nd}',
  D: '\\P{Nd}',
  w: '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}',
};
const keptEscapes = 'rntfvbBpPux0123456789';
const syntax = '^$\\.*+?()[]{}|/';
/** Letters whose other cases are more than one. */
const foldings: Readonly<Record<string, string>> = { s: 'sS\u017f', k: 'kK\u212a' };

export function escapeLiteral(text: string): string {
  return text.replace(/[\^$\\.*+?()[\]{}|/]/g, '\\$&');
}

/** Translates one pattern; `position` is where it stands. */
class Translator {
  readonly #source: string;
  #position = 0;
  #inBrackets = false;
  /** For each open group, whether case is ignored in it. */
  readonly #groups: boolean[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  translate(): string {
    let result = '';
    while (this.#position < this.#source.length) result += this.#next();
    return result;
  }

  #take(length = 1): string {
    const text = this.#source.slice(this.#position, this.#position + length);
    this.#position += length;
    return text;
  }

  #next(): string {
    const character = this.#take();
    if (character === '\\') return this.#escape();
    if (this.#inBrackets) return this.#bracketed(character);
    switch (character) {
      case '[':
        this.#inBrackets = true;
        return this.#source[this.#position] === '^' ? `[${this.#take()}` : '[';
      case '(':
        return this.#openGroup();
      case ')':
        this.#groups.pop();
        return ')';
      case '.':
        return '[^\\n]';
      case '^':
        return '(?<![^\\n])';
      case '$':
        return '(?![^\\n])';
      case '+':
        if (
          /[+*?]/.test(this.#source[this.#position - 2] ?? '') &&
          this.#source[this.#position - 3] !== '\\'
        ) {
          throw new Error('possessive quantifiers are not supported');
        }
        return character;
      default:
        return this.#folds(character) ? `[${this.#bothCases(character)}]` : character;
    }
  }

  #bracketed(character: string): string {
    if (character === '[' || (character === '&' && this.#source[this.#position] === '&')) {
      throw new Error('sets inside brackets are not supported');
    }
    if (character === ']') this.#inBrackets = false;
    return this.#folds(character) ? this.#bothCases(character) : character;
  }

  #openGroup(): string {
    const outer = this.#groups.at(-1) ?? false;
    if (this.#source.startsWith('?i:', this.#position)) {
      this.#take(3);
      this.#groups.push(true);
      return '(?:';
    }
    this.#groups.push(outer);
    return '(';
  }

  #folds(character: string): boolean {
    return (this.#groups.at(-1) ?? false) && /^[a-z]$/i.test(character);
  }

  #bothCases(letter: string): string {
    const lower = letter.toLowerCase();
    return foldings[lower] ?? `${lower}${letter.toUpperCase()}`;
  }

  #escape(): string {
    const character = this.#take();
    const set = classes[character];
    if (set !== undefined) return this.#inBrackets || set.length < 18 ? set : `[${set}]`;
    if ((character === 'p' || character === 'P') && this.#source[this.#position] === '{') {
      return `\\${character}${property(this.#take(this.#source.indexOf('}', this.#position) + 1 - this.#position))}`;
    }
    if (keptEscapes.includes(character) || syntax.includes(character)) return `\\${character}`;
    if (character === '-') return this.#inBrackets ? '\\-' : '-';
    if (/[a-z]/i.test(character)) throw new Error(`\\${character} is not supported`);
    return character;
  }
}

/** A property in braces; scripts are named without `Script=` there. */
function property(braced: string): string {
  const name = braced.slice(1, -1);
  try {
    new RegExp(`\\p{${name}}`, 'u');
    return braced;
  } catch {
    return `{Script=${name}}`;
  }
}

/** A global regular expression for a pattern. @throws RekindleError ModelError when it cannot be translated. */
export function compilePattern(pattern: Pattern, at: string): RegExp {
  if ('String' in pattern) return new RegExp(escapeLiteral(pattern.String), 'gu');
  try {
    return new RegExp(new Translator(pattern.Regex).translate(), 'gu');
  } catch (error) {
    refuse(
      at,
      `is a regular expression that cannot be used here (${pattern.Regex}): ${(error as Error).message}`,
    );
  }
}
