/** The way in which a model writes tool calls, told from its own chat template: it is made to write one. */
import type { ChatMessage, Tokenizer, ToolDefinition } from '../../tokenizer/index.ts';
import { hermes } from './hermes.ts';
import { llama3 } from './llama3.ts';
import { mistral } from './mistral.ts';
import type { ToolCallFormat } from './tool-call-format.ts';

export const toolCallFormats = { hermes, llama3, mistral } as const satisfies Record<string, ToolCallFormat>;
export type ToolCallFormatName = keyof typeof toolCallFormats;

const tool: ToolDefinition = {
  type: 'function',
  function: { name: 'probe', description: 'A probe.', parameters: { type: 'object', properties: {} } },
};
const conversation: ChatMessage[] = [
  { role: 'user', content: 'call it' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id: 'abcdefghi', type: 'function', function: { name: 'probe', arguments: { key: 1 } } }],
  },
];

/** @returns null when the template writes no tool calls, or in a way that is not known. */
export function detectToolCalls(tokenizer: Tokenizer): ToolCallFormatName | null {
  let prompt: string;
  try {
    prompt = tokenizer.applyChatTemplate(conversation, { addGenerationPrompt: false, tools: [tool] });
  } catch {
    return null;
  }
  if (prompt.includes('<tool_call>')) return 'hermes';
  if (prompt.includes('[TOOL_CALLS]')) return 'mistral';
  if (/\{"name": "probe", "parameters": /.test(prompt)) return 'llama3';
  return null;
}
