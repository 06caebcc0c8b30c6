/** What the rest of the product asks of a tokenizer. The shapes of messages and tools are those of the chat completions API. */
export interface ToolCall {
  id?: string;
  type: 'function';
  /** Arguments as an object; templates write them as JSON. */
  function: { name: string; arguments: unknown };
}

export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** Null only in an assistant's message that consists of tool calls. */
  content: string | null;
  /** Of an assistant's message, for templates that show it apart from the content. */
  reasoning_content?: string;
  tool_calls?: readonly ToolCall[];
  /** Of a tool's message: the call that it answers, and the tool's name. */
  tool_call_id?: string;
  name?: string;
}

export interface ToolDefinition {
  type: 'function';
  /** Parameters as a JSON schema. */
  function: { name: string; description?: string; parameters?: unknown };
}

export interface ChatTemplateOptions {
  /** Whether the prompt ends with the beginning of an assistant's message. */
  addGenerationPrompt: boolean;
  tools?: readonly ToolDefinition[] | undefined;
  /** For templates that answer from documents. */
  documents?: readonly Record<string, unknown>[] | undefined;
  /** What a template calls `strftime_now` for. Without it there is no such function, so that a run can be repeated. */
  now?: Date | undefined;
  /** More variables of the template, such as `enable_thinking`. */
  variables?: Readonly<Record<string, unknown>> | undefined;
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
  /** Whether the model has a chat template. */
  readonly hasChatTemplate: boolean;
  /** The prompt text of a conversation. @throws RekindleError ModelError when there is no chat template or it refuses. */
  applyChatTemplate(messages: readonly ChatMessage[], options: ChatTemplateOptions): string;
}
