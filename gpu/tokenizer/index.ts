/** Tokenizers and chat templates. */
export { loadTokenizer } from './huggingface-tokenizer.ts';
export { TextStream } from './text-stream.ts';
export type { ChatMessage, ChatTemplateOptions, Tokenizer, ToolCall, ToolDefinition } from './tokenizer.ts';
