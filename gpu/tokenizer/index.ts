/** Tokenizers and chat templates. */
export { loadTokenizer } from './huggingface-tokenizer.ts';
export type { ChatMessage, Tokenizer } from './tokenizer.ts';
