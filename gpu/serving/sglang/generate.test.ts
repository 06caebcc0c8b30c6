import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { eventsOf, inFlight, startTestServer, type TestServer } from '../../../tests/fixtures/serving.ts';
import { seedAt } from '../../../core/seeds.ts';
import type { Completion } from '../../engine-port.ts';
import type { LogprobTriple } from './logprobs.ts';

interface Generated {
  text: string;
  output_ids: number[];
  index?: number;
  meta_info: {
    id: string;
    finish_reason: { type: string; matched?: number | string; length?: number } | null;
    prompt_tokens: number;
    completion_tokens: number;
    cached_tokens: number;
    weight_version: string;
    e2e_latency: number;
    input_token_logprobs?: LogprobTriple[];
    output_token_logprobs?: LogprobTriple[];
    output_top_logprobs?: LogprobTriple[][];
  };
}

const prompt = [116, 104, 101, 32, 49];
const seeded = { sampling_seed: 7, max_new_tokens: 12 };

function generate(server: TestServer, body: object): Promise<Generated> {
  return server.json<Generated>('/generate', { input_ids: prompt, ...body });
}

/** What does not vary from one request to the next. */
function lasting({ text, output_ids, meta_info }: Generated) {
  const { id: _, e2e_latency: __, ...rest } = meta_info;
  return { text, output_ids, ...rest };
}

it('gives the tokens and log-probs of the engine, with the fields of SGLang', async () => {
  const server = await startTestServer();
  const answer = await generate(server, { rid: 'r1', sampling_params: seeded, return_logprob: true });
  const completions: Completion[] = [];
  await server.engine.generate(
    {
      weights: 'first',
      prompts: [{ ids: prompt, seeds: [seedAt(7, 'serving')] }],
      sampling: { temperature: 1, topK: 0, topP: 1, maxNewTokens: 12, stopIds: [267] },
    },
    (some) => completions.push(...some),
  );
  const { ids, logprobs } = completions[0]!;
  expect(answer.output_ids).toEqual(ids);
  expect(answer.meta_info).toEqual({
    id: 'r1',
    finish_reason: { type: 'length', length: 12 },
    prompt_tokens: 5,
    completion_tokens: 12,
    cached_tokens: 0,
    weight_version: '1',
    input_token_logprobs: [],
    output_token_logprobs: ids.map((id, i) => [logprobs[i], id, null]),
    e2e_latency: expect.any(Number) as number,
  });
});

it('takes text as it takes the ids that it is encoded to', async () => {
  const server = await startTestServer();
  const byIds = await generate(server, {
    input_ids: [116, 256 + 1],
    sampling_params: { ...seeded, skip_special_tokens: false },
  });
  const { tokens } = await server.json<{ tokens: number[] }>('/tokenize', { prompt: 'tthe' });
  const byText = await server.json<Generated>('/generate', {
    text: 'tthe',
    sampling_params: { ...seeded, skip_special_tokens: false },
  });
  expect(tokens).toEqual([116, 257]);
  expect(lasting(byText)).toEqual(lasting(byIds));
});

it('is a function of prompt, settings and seed; without a seed it is random', async () => {
  const server = await startTestServer();
  const ask = async (sampling: object): Promise<string> =>
    JSON.stringify((await generate(server, { sampling_params: sampling })).output_ids);
  const once = await ask(seeded);
  expect(await ask(seeded)).toBe(once);
  expect(await ask({ ...seeded, sampling_seed: 8 })).not.toBe(once);
  expect(await ask({ ...seeded, sampling_seed: 7 + 2 ** 32 })).not.toBe(once);
  expect(await ask({ max_new_tokens: 12 })).not.toBe(await ask({ max_new_tokens: 12 }));
});

it('gives n samples, the first as if it were alone, and a batch as its requests alone', async () => {
  const server = await startTestServer();
  const alone = await generate(server, { sampling_params: seeded });
  const samples = await server.json<Generated[]>('/generate', {
    input_ids: prompt,
    rid: 'r',
    sampling_params: { ...seeded, n: 3 },
  });
  expect(samples.map(({ meta_info }) => meta_info.id)).toEqual(['r_0', 'r_1', 'r_2']);
  expect(lasting(samples[0]!)).toEqual(lasting(alone));
  expect(new Set(samples.map(({ output_ids }) => String(output_ids))).size).toBe(3);

  const other = await generate(server, {
    input_ids: [1, 2],
    sampling_params: { max_new_tokens: 3, temperature: 0 },
  });
  const batch = await server.json<Generated[]>('/generate', {
    input_ids: [prompt, [1, 2]],
    rid: ['a', 'b'],
    sampling_params: [seeded, { max_new_tokens: 3, temperature: 0 }],
    return_logprob: [false, true],
  });
  expect(batch.map(({ meta_info }) => meta_info.id)).toEqual(['a', 'b']);
  expect(lasting(batch[0]!)).toEqual(lasting(alone));
  expect(batch[1]!.output_ids).toEqual(other.output_ids);
  expect(batch[1]!.meta_info.output_token_logprobs).toHaveLength(3);
  expect(await server.json('/generate', { text: ['the'], sampling_params: seeded })).toHaveLength(1);
});

it('streams the answer so far in each event, and ends with the whole one', async () => {
  const server = await startTestServer();
  const body = { input_ids: prompt, sampling_params: seeded, return_logprob: true };
  const whole = await generate(server, body);
  const answer = await server.post('/generate', { ...body, stream: true });
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  const events = await eventsOf<Generated>(answer);
  expect(lasting(events.at(-1)!)).toEqual(lasting(whole));
  expect(events.length).toBeGreaterThan(2);
  events.forEach((event, i) => {
    expect(whole.text.startsWith(event.text)).toBe(true);
    expect(whole.output_ids.slice(0, event.output_ids.length)).toEqual(event.output_ids);
    expect(event.meta_info.finish_reason === null).toBe(i < events.length - 1);
    expect(event.meta_info.weight_version).toBe('1');
  });

  const many = await eventsOf<Generated>(
    await server.post('/generate', {
      input_ids: [prompt, [5]],
      stream: true,
      sampling_params: { ...seeded, n: 2 },
    }),
  );
  const last = new Map(many.map((event) => [event.index, event]));
  expect([...last.keys()].sort()).toEqual([0, 1, 2, 3]);
  expect(lasting(last.get(0)!).output_ids).toEqual(whole.output_ids);
});

it('stops at token ids and strings, says at which, and trims them unless told otherwise', async () => {
  const server = await startTestServer();
  const free = await generate(server, { sampling_params: { ...seeded, skip_special_tokens: false } });
  const id = free.output_ids[4]!;
  const first = free.output_ids.indexOf(id);
  const byId = await generate(server, { sampling_params: { ...seeded, stop_token_ids: [id] } });
  expect(byId.output_ids).toEqual(free.output_ids.slice(0, first + 1));
  expect(byId.meta_info.finish_reason).toEqual({ type: 'stop', matched: id });

  const stop = [...free.text].find((character) => character !== '\ufffd')!;
  const at = free.text.indexOf(stop);
  const byText = await generate(server, { sampling_params: { ...seeded, stop } });
  expect(byText.text).toBe(free.text.slice(0, at));
  expect(byText.meta_info.finish_reason).toEqual({ type: 'stop', matched: stop });
  expect(byText.output_ids.length).toBeLessThan(12);
  const kept = await generate(server, { sampling_params: { ...seeded, stop: [stop], no_stop_trim: true } });
  expect(kept.text).toBe(free.text.slice(0, at + stop.length));
  expect(kept.output_ids).toEqual(byText.output_ids);
});

it('gives the log-probs of a prompt, as a teacher is asked for them: with no new token, or with some', async () => {
  const server = await startTestServer();
  const teacher = { return_logprob: true, logprob_start_len: 0 };
  const scored = await generate(server, {
    ...teacher,
    sampling_params: { temperature: 0, max_new_tokens: 0 },
  });
  expect(scored).toMatchObject({ text: '', output_ids: [] });
  const triples = scored.meta_info.input_token_logprobs!;
  expect(triples.map(([, id]) => id)).toEqual(prompt);
  expect(triples[0]![0]).toBeNull();
  const rows = {
    ids: Int32Array.from(prompt),
    rowLengths: Int32Array.of(prompt.length),
    trained: Uint8Array.of(0, 1, 1, 1, 1),
  };
  const expected = await server.engine.score('first', rows, 1);
  expect(triples.slice(1).map(([logprob]) => logprob)).toEqual([...expected.subarray(1)]);

  const continued = await generate(server, { ...teacher, sampling_params: { max_new_tokens: 1 } });
  continued.meta_info.input_token_logprobs!.slice(1).forEach(([logprob], i) => {
    expect(logprob).toBeCloseTo(triples[i + 1]![0]!, 4);
  });
  const later = await generate(server, {
    ...teacher,
    logprob_start_len: 3,
    return_text_in_logprobs: true,
    sampling_params: { max_new_tokens: 1 },
  });
  expect(later.meta_info.input_token_logprobs).toEqual([
    [null, 32, ' '],
    [continued.meta_info.input_token_logprobs![4]![0], 49, '1'],
  ]);
});

it('a temperature too small to divide by is greedy, and disturbs no other request', async () => {
  const server = await startTestServer();
  const other = generate(server, { sampling_params: { ...seeded, max_new_tokens: 100, ignore_eos: true } });
  await inFlight(server, 1);
  const [tiny, greedy] = await Promise.all(
    [1e-300, 0].map((temperature) => generate(server, { sampling_params: { ...seeded, temperature } })),
  );
  expect(tiny!.output_ids).toEqual(greedy!.output_ids);
  expect((await other).output_ids).toHaveLength(100);
});

it('of a batch that is refused in part nothing goes on', async () => {
  const server = await startTestServer({ settings: { maxWaiting: 1 } });
  const ids = [prompt, prompt];
  const limits = { max_new_tokens: 400, ignore_eos: true };
  for (const stream of [false, true]) {
    for (const [path, body] of [
      ['/generate', { input_ids: ids, sampling_params: limits }],
      ['/v1/completions', { prompt: ids, max_tokens: 400, ignore_eos: true }],
    ] as const) {
      const answer = await (await server.post(path, { ...body, stream })).text();
      expect(answer).toContain('queue_full');
      const information = (await (await server.get('/get_server_info')).json()) as Record<string, number>;
      expect(information, path).toMatchObject({ running: 0, waiting: 0 });
    }
  }
});

it('gives the likeliest tokens at the temperature of the sampling', async () => {
  const server = await startTestServer();
  const body = { return_logprob: true, top_logprobs_num: 3 };
  for (const temperature of [0, 0.5, 1, 2]) {
    const { meta_info } = await generate(server, { ...body, sampling_params: { ...seeded, temperature } });
    const sampled = meta_info.output_token_logprobs!;
    meta_info.output_top_logprobs!.forEach((top, i) => {
      expect(top).toHaveLength(3);
      const same = top.find(([, id]) => id === sampled[i]![1]);
      if (same) expect(same[0]).toBeCloseTo(sampled[i]![0]!, 5);
      if (temperature === 0) expect(top[0]![1]).toBe(sampled[i]![1]);
      const logprobs = top.map(([logprob]) => logprob!);
      expect(logprobs).toEqual([...logprobs].sort((a, b) => b - a));
      expect(logprobs.reduce((mass, logprob) => mass + Math.exp(logprob), 0)).toBeLessThan(1.000_001);
    });
  }
});

test.each<[string, object, string]>([
  ['both prompts', { text: 'a', input_ids: [1] }, 'text'],
  ['no prompt', { input_ids: undefined }, 'text'],
  ['an empty prompt', { input_ids: [] }, 'input_ids'],
  ['an id that the model has not', { input_ids: [[1], [272]] }, 'input_ids.1'],
  [
    'a prompt that leaves no room',
    { input_ids: Array(510).fill(1), sampling_params: { max_new_tokens: 3 } },
    'input_ids',
  ],
  ['an unknown field', { temperature: 1 }, 'temperature'],
  ['an unknown sampling parameter', { sampling_params: { topp: 1 } }, 'sampling_params.topp'],
  ['a number out of range', { sampling_params: { top_p: 0 } }, 'sampling_params.top_p'],
  ['a penalty', { sampling_params: { frequency_penalty: 0.5 } }, 'sampling_params.frequency_penalty'],
  ['log-probs of chosen tokens', { token_ids_logprob: [1] }, 'token_ids_logprob'],
  ['an image', { image_data: 'x' }, 'image_data'],
  [
    'a start of log-probs after the prompt',
    { return_logprob: true, logprob_start_len: 5 },
    'logprob_start_len',
  ],
  ['one name for a batch', { input_ids: [[1], [2]], rid: 'r' }, 'rid'],
  ['too few settings for a batch', { input_ids: [[1], [2]], sampling_params: [{}] }, 'sampling_params'],
])('refuses %s and names the field', async (_, body, param) => {
  const server = await startTestServer();
  const { error } = await server.json<{ error: { message: string; param: string } }>(
    '/generate',
    { input_ids: prompt, ...body },
    400,
  );
  expect(error.param).toBe(param);
  expect(error.message).toContain(param);
});

it('accepts every unsupported field at the value that asks for nothing', async () => {
  const server = await startTestServer();
  await generate(server, {
    lora_path: null,
    image_data: null,
    return_hidden_states: false,
    sampling_params: {
      max_new_tokens: 1,
      repetition_penalty: 1,
      min_new_tokens: 0,
      json_schema: null,
      top_k: -1,
    },
  });
});

it('answers any body with JSON, never with a failure of its own', async () => {
  const server = await startTestServer();
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (body) => {
      const answer = await server.post('/generate', undefined, { body: JSON.stringify(body) });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
    }),
    { numRuns: 50 },
  );
});
