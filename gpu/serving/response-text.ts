/**
 * The text of a response as its tokens come. Text is given out once nothing that follows can change it: characters whose bytes
 * are not all there, and what may be the beginning of a stop string, are held back. A stop string and what is after it are left
 * out, and so is the token that stopped the response.
 */
import type { Tokenizer } from '../tokenizer/index.ts';
import { TokenText } from './token-text.ts';

export interface ResponseTextRules {
  stopIds: ReadonlySet<number>;
  stopStrings: readonly string[];
  /** Whether special tokens appear as written. */
  keepSpecialTokens: boolean;
  /** Whether what stopped the response stays in its text. */
  keepStop: boolean;
}

export class ResponseText {
  readonly #rules: ResponseTextRules;
  readonly #pieces: TokenText;
  #held = '';
  #matched: string | null = null;

  constructor(tokenizer: Tokenizer, rules: ResponseTextRules) {
    this.#rules = rules;
    this.#pieces = new TokenText(tokenizer, rules.keepSpecialTokens);
  }

  /** The stop string that was found. */
  get matched(): string | null {
    return this.#matched;
  }

  /** Takes the next tokens and returns the text that is certain now. */
  push(ids: readonly number[]): string {
    const { keepStop, stopIds } = this.#rules;
    return this.#take(this.#pieces.push(keepStop ? ids : ids.filter((id) => !stopIds.has(id))));
  }

  /** What was held back, when no more tokens come. */
  end(): string {
    const certain = this.#take(this.#pieces.end());
    const rest = this.#held;
    this.#held = '';
    return certain + rest;
  }

  #take(text: string): string {
    if (this.#matched !== null) return '';
    const { stopStrings, keepStop } = this.#rules;
    const pending = this.#held + text;
    const found = firstOf(pending, stopStrings);
    if (found) {
      this.#matched = found.text;
      this.#held = '';
      return keepStop ? pending : pending.slice(0, found.at);
    }
    const held = keepStop ? 0 : beginningAtEnd(pending, stopStrings);
    this.#held = pending.slice(pending.length - held);
    return pending.slice(0, pending.length - held);
  }
}

function firstOf(text: string, strings: readonly string[]): { text: string; at: number } | undefined {
  return strings
    .map((string) => ({ text: string, at: text.indexOf(string) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)[0];
}

/** How many characters at the end of a text may be the beginning of one of the strings. */
export function beginningAtEnd(text: string, strings: readonly string[]): number {
  let longest = 0;
  for (const string of strings) {
    for (let length = Math.min(string.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(string.slice(0, length))) longest = length;
    }
  }
  return longest;
}
