/** The body of `/v1/chat/completions`, and its messages as chat templates take them. */
import { z } from 'zod';
import type { ChatMessage } from '../../tokenizer/index.ts';
import { ignored, unsupported } from '../fields.ts';
import { commonFields, topLogprobsLimit } from './common.ts';

/** Text, or parts that are all text. */
const content = z.union(
  [
    z.string(),
    z
      .array(z.strictObject({ type: z.literal('text'), text: z.string() }))
      .transform((parts) => parts.map(({ text }) => text).join('')),
  ],
  { error: 'expected a string or a list of parts {type: "text", text}; this model reads text only' },
);

/** Templates write arguments as JSON themselves, so the JSON text of a call becomes a value again. */
const callArguments = z.union([
  z.record(z.string(), z.unknown()),
  z.string().transform((text, context) => {
    try {
      return JSON.parse(text === '' ? '{}' : text) as unknown;
    } catch {
      context.addIssue('expected JSON text');
      return z.NEVER;
    }
  }),
]);

const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string().min(1), arguments: callArguments }),
  index: z.int().optional(),
});

const named = { name: z.string().optional() };
const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content, ...named }),
  z.strictObject({ role: z.literal('developer'), content, ...named }),
  z.strictObject({ role: z.literal('user'), content, ...named }),
  z.strictObject({ role: z.literal('tool'), content, tool_call_id: z.string(), ...named }),
  z
    .strictObject({
      role: z.literal('assistant'),
      content: content.nullish(),
      tool_calls: z.array(toolCall).nullish(),
      reasoning_content: z.string().nullish(),
      refusal: unsupported(),
      annotations: unsupported([]),
      audio: unsupported(),
      function_call: unsupported(),
      ...named,
    })
    .refine(({ content, tool_calls }) => content != null || (tool_calls?.length ?? 0) > 0, {
      message: 'expected content or tool_calls',
    }),
]);

const tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string().regex(/^[\w-]{1,64}$/),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
    strict: unsupported(false),
  }),
});

export const chatSchema = z.strictObject({
  ...commonFields,
  messages: z.array(message).nonempty(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(topLogprobsLimit).nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z
    .enum(['auto', 'none'], {
      error: 'this server cannot force a call, expected "auto" or "none"',
    })
    .nullish(),
  parallel_tool_calls: unsupported(true),
  response_format: unsupported({ type: 'text' }),
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
  modalities: unsupported(['text']),
  audio: unsupported(),
  prediction: unsupported(),
  functions: unsupported(),
  function_call: unsupported(),
  reasoning_effort: unsupported(),
  verbosity: unsupported('medium'),
  service_tier: ignored,
  store: unsupported(false),
  prompt_cache_key: ignored,
  safety_identifier: ignored,
});

export type ChatBody = z.infer<typeof chatSchema>;

/** The messages with nothing in them that was left out or null. */
export function templateMessages({ messages }: ChatBody): ChatMessage[] {
  return messages.map((given): ChatMessage => {
    if (given.role === 'tool') {
      const { role, content, tool_call_id, name } = given;
      return { role, content, tool_call_id, ...(name !== undefined && { name }) };
    }
    if (given.role !== 'assistant') return { role: given.role, content: given.content };
    const { role, content = null, tool_calls: calls, reasoning_content: reasoning } = given;
    return {
      role,
      content,
      ...(calls != null && calls.length > 0 && { tool_calls: calls }),
      ...(reasoning != null && { reasoning_content: reasoning }),
    };
  });
}
