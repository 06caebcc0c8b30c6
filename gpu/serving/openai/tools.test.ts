/** Tools in the model's own template, and calls read from its own format, through the official client. */
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { byteLevelTokenizerFiles } from '../../../tests/fixtures/byte-level-tokenizer.ts';
import { scriptedEngine } from '../../../tests/fixtures/scripted-engine.ts';
import { servedName as model, startTestServer } from '../../../tests/fixtures/serving.ts';
import { tinyConfig } from '../../../tests/fixtures/tiny-model.ts';
import { fileNames, jsonFile } from '../../model/model-files.ts';
import { loadTokenizer, type Tokenizer } from '../../tokenizer/index.ts';
import { toolCallFormats, type ToolCallFormatName } from '../tool-calls/choose-format.ts';

/** Templates of the chat template oracle, each in the manner of a family. */
const { templates } = JSON.parse(
  readFileSync(
    new URL('../../../tests/oracles/chat-templates/chat-templates-golden.json', import.meta.url),
    'utf8',
  ),
) as { templates: Record<string, string> };

const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'add',
      description: 'Adds two numbers.',
      parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
    },
  },
];
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'What is 1 + 2?' }];

/** A tokenizer with a family's template, in which the marker of its calls is a special token. */
function tokenizerOf(template: string, marker?: string): Tokenizer {
  const files = byteLevelTokenizerFiles();
  files[fileNames.chatTemplate] = new TextEncoder().encode(templates[template]);
  if (marker !== undefined) {
    const definition = JSON.parse(new TextDecoder().decode(files[fileNames.tokenizer])) as {
      added_tokens: { id: number; content: string }[];
    };
    const last = definition.added_tokens.at(-1)!;
    definition.added_tokens.push({ ...last, id: last.id + 1, content: marker });
    files[fileNames.tokenizer] = jsonFile(definition);
  }
  return loadTokenizer(files);
}

async function startClient(
  tokenizer: Tokenizer,
  format: ToolCallFormatName,
  output: string,
): Promise<OpenAI> {
  const ids = [...tokenizer.encode(output), ...tokenizer.stopIds.slice(0, 1)];
  const server = await startTestServer({
    engine: scriptedEngine(ids),
    model: { tokenizer, toolCalls: toolCallFormats[format], config: { ...tinyConfig, maxPositions: 2048 } },
  });
  return new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
}

describe.each<[ToolCallFormatName, string, string | undefined, string, string | null]>([
  [
    'hermes',
    'qwen',
    undefined,
    'I add.\n<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>',
    'I add.\n',
  ],
  ['llama3', 'llama3', undefined, '{"name": "add", "parameters": {"a": 1, "b": 2}}', null],
  [
    'mistral',
    'mistral',
    '[TOOL_CALLS]',
    '[TOOL_CALLS][{"name": "add", "arguments": {"a": 1, "b": 2}}]',
    null,
  ],
])('%s', (format, template, marker, output, content) => {
  const call = {
    id: expect.any(String) as string,
    type: 'function',
    function: { name: 'add', arguments: '{"a":1,"b":2}' },
  };

  it('gives calls of a whole answer', async () => {
    const client = await startClient(tokenizerOf(template, marker), format, output);
    const { choices } = await client.chat.completions.create({ model, messages, tools });
    expect(choices[0]).toMatchObject({
      message: { role: 'assistant', content, tool_calls: [call] },
      finish_reason: 'tool_calls',
    });
  });

  it('streams calls and no part of their format as content', async () => {
    const client = await startClient(tokenizerOf(template, marker), format, output);
    const runner = client.chat.completions.stream({ model, messages, tools });
    let text = '';
    runner.on('content', (delta) => (text += delta));
    const { choices } = await runner.finalChatCompletion();
    expect(text).toBe(content ?? '');
    expect(choices[0]!.message.tool_calls).toMatchObject([call]);
    expect(choices[0]!.finish_reason).toBe('tool_calls');
  });

  it('takes the call and its result back into the conversation', async () => {
    const tokenizer = tokenizerOf(template, marker);
    const client = await startClient(tokenizer, format, output);
    const first = await client.chat.completions.create({ model, messages, tools });
    const { message } = first.choices[0]!;
    const [made] = message.tool_calls!;
    const after: OpenAI.ChatCompletionMessageParam[] = [
      ...messages,
      message,
      { role: 'tool', tool_call_id: made!.id, content: '3' },
    ];
    const second = await client.chat.completions.create({ model, messages: after, tools });
    const prompt = tokenizer.applyChatTemplate(
      [
        { role: 'user', content: 'What is 1 + 2?' },
        {
          role: 'assistant',
          content,
          tool_calls: [
            { id: made!.id, type: 'function', function: { name: 'add', arguments: { a: 1, b: 2 } } },
          ],
        },
        { role: 'tool', tool_call_id: made!.id, content: '3' },
      ],
      { addGenerationPrompt: true, tools: tools as never },
    );
    expect(second.usage!.prompt_tokens).toBe(tokenizer.encode(prompt).length);
    expect(second.usage!.prompt_tokens).toBeGreaterThan(first.usage!.prompt_tokens);
  });
});

it('without tools, or with tool_choice none, leaves the text as it is', async () => {
  const output = '<tool_call>{"name": "add", "arguments": {}}</tool_call>';
  const client = await startClient(tokenizerOf('qwen'), 'hermes', output);
  for (const rest of [{}, { tools, tool_choice: 'none' as const }]) {
    const { choices } = await client.chat.completions.create({ model, messages, ...rest });
    expect(choices[0]).toMatchObject({ message: { content: output }, finish_reason: 'stop' });
    expect(choices[0]!.message.tool_calls).toBeUndefined();
  }
});

it('puts the tools into the prompt', async () => {
  const client = await startClient(tokenizerOf('qwen'), 'hermes', 'x');
  const plain = await client.chat.completions.create({ model, messages });
  const withTools = await client.chat.completions.create({ model, messages, tools });
  const none = await client.chat.completions.create({ model, messages, tools, tool_choice: 'none' });
  expect(none.usage).toEqual(plain.usage);
  expect(withTools.usage!.prompt_tokens).toBeGreaterThan(plain.usage!.prompt_tokens + 50);
});
