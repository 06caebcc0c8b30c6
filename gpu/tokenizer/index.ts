/** Tokenizers and chat templates. */
export { loadTokenizer } from './huggingface-tokenizer.ts';
export type { ChatMessage, ChatTemplateOptions, Tokenizer, ToolCall, ToolDefinition } from './tokenizer.ts';
