/** The official client against the server, streaming included. */
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  RateLimitError,
} from 'openai';
import { describe, expect, it, test } from 'vitest';
import { inFlight, servedName, startTestServer, type TestServer } from '../../../tests/fixtures/serving.ts';
import type { ServerSettings } from '../model-server.ts';

const model = servedName;
const messages = [{ role: 'user' as const, content: 'the 12 rings' }];
const seeded = { model, messages, seed: 5, max_tokens: 12 };

async function startClient(
  options: { settings?: Partial<ServerSettings>; apiKey?: string; slots?: number } = {},
): Promise<{ server: TestServer; client: OpenAI }> {
  const server = await startTestServer(options);
  const { apiKey = 'none' } = options;
  return { server, client: new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 }) };
}

it('lists and retrieves the one model', async () => {
  const { client } = await startClient();
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual([model]);
  expect(await client.models.retrieve(model)).toMatchObject({ id: model, object: 'model' });
  await expect(client.models.retrieve('other')).rejects.toThrow(NotFoundError);
});

describe('chat completions', () => {
  it('are rendered by the chat template, seeded, counted, and named after the weights', async () => {
    const { server, client } = await startClient();
    const completion = await client.chat.completions.create(seeded);
    const { tokens } = await server.json<{ tokens: number[] }>('/tokenize', {
      prompt: '<|turn|>user\nthe 12 rings<|end|>\n<|turn|>assistant\n',
    });
    const native = await server.json<{ text: string; output_ids: number[] }>('/generate', {
      input_ids: tokens,
      sampling_params: { max_new_tokens: 12, sampling_seed: 5 },
    });
    expect(completion).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/) as string,
      object: 'chat.completion',
      model,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: native.text, refusal: null },
          finish_reason: 'length',
          logprobs: null,
        },
      ],
      usage: { prompt_tokens: tokens.length, completion_tokens: 12, total_tokens: tokens.length + 12 },
      system_fingerprint: 'fp_1',
    });
    const again = await client.chat.completions.create(seeded);
    expect(again.choices).toEqual(completion.choices);
  });

  it('stream deltas that join to the whole answer, with usage at the end on request', async () => {
    const { client } = await startClient();
    const whole = await client.chat.completions.create({ ...seeded, n: 2 });
    const stream = await client.chat.completions.create({
      ...seeded,
      n: 2,
      stream: true,
      stream_options: { include_usage: true },
    });
    const texts = ['', ''];
    const finishes: (string | null)[] = [null, null];
    let usage: OpenAI.CompletionUsage | null | undefined;
    let chunks = 0;
    for await (const chunk of stream) {
      chunks++;
      expect(chunk.object).toBe('chat.completion.chunk');
      usage = chunk.usage;
      for (const { index, delta, finish_reason } of chunk.choices) {
        if (texts[index] === '' && delta.role) expect(delta.role).toBe('assistant');
        texts[index] += delta.content ?? '';
        finishes[index] = finish_reason;
      }
    }
    expect(texts).toEqual(whole.choices.map(({ message }) => message.content));
    expect(finishes).toEqual(['length', 'length']);
    expect(usage).toEqual(whole.usage);
    expect(chunks).toBeGreaterThan(8);
  });

  it('work with the streaming helper of the client', async () => {
    const { client } = await startClient();
    const whole = await client.chat.completions.create(seeded);
    const runner = client.chat.completions.stream(seeded);
    expect(await runner.finalContent()).toBe(whole.choices[0]!.message.content);
  });

  it('give log-probs of the model whatever the temperature, the same when streamed', async () => {
    const { client } = await startClient();
    const asked = { ...seeded, logprobs: true, top_logprobs: 2, temperature: 0.5 };
    const { choices } = await client.chat.completions.create(asked);
    const content = choices[0]!.logprobs!.content!;
    expect(content).toHaveLength(12);
    for (const { token, logprob, bytes, top_logprobs: top } of content) {
      expect(top).toHaveLength(2);
      if (bytes) expect(new TextDecoder().decode(Uint8Array.from(bytes))).toBe(token);
      expect(logprob).toBeLessThanOrEqual(top[0]!.logprob + 1e-9);
      const same = top.find((entry) => entry.token === token);
      if (same) expect(same.logprob).toBeCloseTo(logprob, 9);
    }
    const streamed: object[] = [];
    for await (const { choices } of await client.chat.completions.create({ ...asked, stream: true })) {
      streamed.push(...(choices[0]!.logprobs?.content ?? []));
    }
    expect(streamed).toEqual(content);
  });

  it('take a conversation of every role and content in parts', async () => {
    const { client } = await startClient();
    const parts = await client.chat.completions.create({
      ...seeded,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'the 12' },
            { type: 'text', text: ' rings' },
          ],
        },
      ],
    });
    expect(parts.choices).toEqual((await client.chat.completions.create(seeded)).choices);
    await client.chat.completions.create({
      ...seeded,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: 'Be kind.' },
        { role: 'user', content: 'hi', name: 'me' },
        { role: 'assistant', content: 'hello' },
        { role: 'user', content: 'bye' },
      ],
    });
  });
});

describe('completions', () => {
  it('take texts and ids, alone or in lists, and number the choices of all', async () => {
    const { client } = await startClient();
    const rest = { model, max_tokens: 6, seed: 3 };
    const one = await client.completions.create({ ...rest, prompt: 'the' });
    const ids = await client.completions.create({ ...rest, prompt: [257] });
    expect(ids.choices).toEqual(one.choices);
    const many = await client.completions.create({ ...rest, prompt: ['the', 'ring'], n: 2 });
    expect(many.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(many.choices[0]!.text).toBe(one.choices[0]!.text);
    expect(many.usage!.completion_tokens).toBe(24);
    const lists = await client.completions.create({ ...rest, prompt: [[257], [114, 261]], n: 2 });
    expect(lists.choices).toEqual(many.choices);
  });

  it('echo the prompt with its log-probs, also when no token is asked for', async () => {
    const { client } = await startClient();
    const rest = { model, prompt: 'the ring', echo: true, logprobs: 2, seed: 3 };
    const some = await client.completions.create({ ...rest, max_tokens: 3 });
    const { text, logprobs } = some.choices[0]!;
    expect(text.startsWith('the ring')).toBe(true);
    const { tokens, token_logprobs: values, top_logprobs: top, text_offset: offsets } = logprobs!;
    expect(tokens!.slice(0, 3)).toEqual(['the', ' ', 'r']);
    expect(values![0]).toBeNull();
    expect(offsets!.slice(0, 3)).toEqual([0, 3, 4]);
    expect([tokens, values, top, offsets].map((list) => list!.length)).toEqual(Array(4).fill(tokens!.length));
    const none = await client.completions.create({ ...rest, max_tokens: 0 });
    expect(none.choices[0]!.text).toBe('the ring');
    none.choices[0]!.logprobs!.token_logprobs!.slice(1).forEach((logprob, i) => {
      expect(logprob).toBeCloseTo(values![i + 1]!, 4);
    });
  });

  it('stream each choice, and stop at a string that is not in the text', async () => {
    const { client } = await startClient();
    const rest = { model, prompt: 'the', max_tokens: 20, seed: 3 };
    const free = (await client.completions.create(rest)).choices[0]!.text;
    const stop = [...free].filter((character) => character !== '\ufffd')[3]!;
    let text = '';
    let finish: string | null = null;
    for await (const chunk of await client.completions.create({ ...rest, stop, stream: true })) {
      text += chunk.choices[0]!.text;
      finish = chunk.choices[0]!.finish_reason;
    }
    expect(text).toBe(free.slice(0, free.indexOf(stop)));
    expect(finish).toBe('stop');
  });
});

it('an abort of a streaming client frees the slot at once', async () => {
  const { server, client } = await startClient({ slots: 1 });
  const stream = await client.chat.completions.create({
    ...seeded,
    max_tokens: 400,
    stream: true,
    // The model's own end token would end it early.
    ...({ ignore_eos: true } as object),
  });
  for await (const _ of stream) break;
  await inFlight(server, 0);
  expect((await client.chat.completions.create(seeded)).choices).toHaveLength(1);
});

it('64 streams at once give each what it gives alone', async () => {
  const { client } = await startClient({ slots: 8 });
  const request = (seed: number) => ({
    model,
    seed,
    messages: [{ role: 'user' as const, content: 'the '.repeat(seed % 7) + String(seed) }],
    max_tokens: 5 + (seed % 11),
    temperature: seed % 3 === 0 ? 0 : 1,
  });
  const alone: (string | null)[] = [];
  for (let seed = 0; seed < 64; seed++) {
    alone.push((await client.chat.completions.create(request(seed))).choices[0]!.message.content);
  }
  const streamed = await Promise.all(
    alone.map(async (_, seed) => {
      let text = '';
      for await (const chunk of await client.chat.completions.create({ ...request(seed), stream: true })) {
        text += chunk.choices[0]!.delta.content ?? '';
      }
      return text;
    }),
  );
  expect(streamed).toEqual(alone);
});

describe('errors', () => {
  it('have the classes of the client', async () => {
    const { client, server } = await startClient({
      settings: { token: 'secret', maxWaiting: 1 },
      apiKey: 'secret',
    });
    const wrong = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'wrong', maxRetries: 0 });
    await expect(wrong.models.list()).rejects.toThrow(AuthenticationError);
    await expect(client.chat.completions.create({ ...seeded, model: 'gpt' })).rejects.toThrow(NotFoundError);
    await expect(client.chat.completions.create({ ...seeded, max_tokens: 600 })).rejects.toMatchObject({
      constructor: BadRequestError,
      status: 400,
      code: 'context_length_exceeded',
      param: 'messages',
    });
    await server.post('/pause_generation', {}, { headers: { authorization: 'Bearer secret' } });
    const waiting = client.chat.completions.create(seeded);
    await expect
      .poll(() => client.completions.create({ model, prompt: 'a' }).catch((error: unknown) => error))
      .toBeInstanceOf(RateLimitError);
    await server.post('/continue_generation', {}, { headers: { authorization: 'Bearer secret' } });
    await waiting;
  });

  test.each<[string, object, string]>([
    [
      'an image',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      'messages.0.content',
    ],
    ['an unknown role', { messages: [{ role: 'robot', content: 'x' }] }, 'messages.0.role'],
    ['no message', { messages: [] }, 'messages'],
    ['JSON mode', { response_format: { type: 'json_object' } }, 'response_format'],
    ['a penalty', { presence_penalty: 1 }, 'presence_penalty'],
    ['a forced call', { tool_choice: 'required' }, 'tool_choice'],
    ['a temperature out of range', { temperature: 3 }, 'temperature'],
    ['top log-probs without log-probs', { top_logprobs: 3 }, 'top_logprobs'],
    ['an unknown field', { max_new_tokens: 3 }, 'max_new_tokens'],
    ['tools of a model that has none', { tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools'],
  ])('name the field of %s', async (_, body, param) => {
    const { client } = await startClient();
    const asked = client.chat.completions.create({ ...seeded, ...body });
    await expect(asked).rejects.toMatchObject({ status: 400, param });
    await expect(asked).rejects.toThrow(param);
  });

  it('after the first event come as an event', async () => {
    const { client, server } = await startClient();
    const stream = await client.chat.completions.create({
      ...seeded,
      stream: true,
      max_tokens: 400,
      ...({ ignore_eos: true } as object),
    });
    let failure: unknown;
    try {
      for await (const _ of stream) await server.engine.release(['cache']);
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(APIError);
    expect((failure as APIError).message).toContain('the engine was closed');
  });
});
