/**
 * The text of token ids that come one by one. What has been handed out never changes: a character whose bytes lie in several
 * tokens is held back until it is whole.
 *
 * Decoding a token alone can differ from decoding it after others (the first token of a text loses its leading space in some
 * tokenizers), so each step decodes the last few tokens with and without the new ones, and hands out the difference.
 */
import type { Tokenizer } from './tokenizer.ts';

const replacement = '\ufffd';
/** No character takes more tokens than this; bytes that still make no character then never will. */
const mostTokensOfCharacter = 8;

export class TextStream {
  readonly #tokenizer: Pick<Tokenizer, 'decode'>;
  /** Tokens whose text was handed out last, then those held back. */
  #ids: number[] = [];
  #handedOut = 0;

  constructor(tokenizer: Pick<Tokenizer, 'decode'>) {
    this.#tokenizer = tokenizer;
  }

  /** Takes the next token and returns the text that is complete by now; empty when none is. */
  push(id: number): string {
    this.#ids.push(id);
    const waiting = this.#ids.length - this.#handedOut;
    const text = this.#rest();
    return text.endsWith(replacement) && waiting < mostTokensOfCharacter ? '' : this.#handOut(text);
  }

  /** The text that was held back: a replacement character for what never became one. */
  end(): string {
    return this.#handOut(this.#rest());
  }

  #rest(): string {
    const before = this.#tokenizer.decode(this.#ids.slice(0, this.#handedOut));
    return this.#tokenizer.decode(this.#ids).slice(before.length);
  }

  #handOut(text: string): string {
    // Tokens without a text, such as special ones, say nothing about how the next is decoded.
    if (text !== '') {
      this.#ids = this.#ids.slice(this.#handedOut);
      this.#handedOut = this.#ids.length;
    }
    return text;
  }
}
