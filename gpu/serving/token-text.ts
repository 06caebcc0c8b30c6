/**
 * The text of tokens as they come: the pieces joined are the text of all tokens at once. A token's text can depend on the one
 * before it and, when it is part of a character, on those after it; such a piece is held back.
 */
import type { Tokenizer } from '../tokenizer/index.ts';

const replacement = '\ufffd';
/** More tokens than any character consists of: after these a broken character is let through. */
const longestCharacter = 8;

export class TokenText {
  readonly #tokenizer: Tokenizer;
  readonly #keepSpecialTokens: boolean;
  /** The last token given out, which the text of the next may depend on, and the tokens since. */
  #tail: number[] = [];
  #given = 0;

  constructor(tokenizer: Tokenizer, keepSpecialTokens: boolean) {
    this.#tokenizer = tokenizer;
    this.#keepSpecialTokens = keepSpecialTokens;
  }

  push(ids: readonly number[]): string {
    let text = '';
    for (const id of ids) {
      if (this.#isSpecial(id)) {
        text += this.end();
        if (this.#keepSpecialTokens) text += this.#tokenizer.token(id);
        continue;
      }
      this.#tail.push(id);
      const pending = this.#pending();
      if (pending.endsWith(replacement) && this.#tail.length - this.#given < longestCharacter) continue;
      text += pending;
      this.#tail = this.#tail.slice(this.#given);
      this.#given = this.#tail.length;
    }
    return text;
  }

  end(): string {
    const rest = this.#pending();
    this.#tail = [];
    this.#given = 0;
    return rest;
  }

  #pending(): string {
    const { decode } = this.#tokenizer;
    return decode(this.#tail).slice(decode(this.#tail.slice(0, this.#given)).length);
  }

  #isSpecial(id: number): boolean {
    return this.#tokenizer.decode([id]) === '' && this.#tokenizer.token(id) !== '';
  }
}
