/** The text of tokens as they come, as `TextStream` gives it, with special tokens as written where they are wanted. */
import { TextStream, type Tokenizer } from '../tokenizer/index.ts';

export class TokenText {
  readonly #tokenizer: Tokenizer;
  readonly #keepSpecialTokens: boolean;
  readonly #stream: TextStream;

  constructor(tokenizer: Tokenizer, keepSpecialTokens: boolean) {
    this.#tokenizer = tokenizer;
    this.#keepSpecialTokens = keepSpecialTokens;
    this.#stream = new TextStream(tokenizer);
  }

  push(ids: readonly number[]): string {
    return ids
      .map((id) =>
        this.#keepSpecialTokens && this.#isSpecial(id)
          ? this.#stream.end() + this.#tokenizer.token(id)
          : this.#stream.push(id),
      )
      .join('');
  }

  end(): string {
    return this.#stream.end();
  }

  #isSpecial(id: number): boolean {
    return this.#tokenizer.decode([id]) === '' && this.#tokenizer.token(id) !== '';
  }
}
