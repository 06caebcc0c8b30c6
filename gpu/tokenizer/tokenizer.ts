/** What the rest of the product asks of a tokenizer. */
export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
}

export interface Tokenizer {
  /** Token ids of a text, exactly: no beginning-of-sequence or other token is added (chat templates write theirs as text). */
  encode(text: string): number[];
  /** Text of token ids; special tokens, and ids that no token has, are left out. */
  decode(ids: readonly number[]): string;
  /** The text of one token for a person to read; special tokens appear as written. */
  token(id: number): string;
  /** One more than the largest token id. */
  readonly vocabSize: number;
  /** Tokens that end a response. */
  readonly stopIds: readonly number[];
  /** The prompt text of a conversation. @throws RekindleError ModelError when there is no chat template or it refuses. */
  applyChatTemplate(messages: readonly ChatMessage[], options: { addGenerationPrompt: boolean }): string;
}
