import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { scriptedEngine } from '../../../tests/fixtures/scripted-engine.ts';
import { inFlight, startTestServer, type TestServer } from '../../../tests/fixtures/serving.ts';
import { tinyConfig, writeTinyModel } from '../../../tests/fixtures/tiny-model.ts';
import { scratchFolder } from '../../../tests/harness/scratch-folder.ts';

interface Generated {
  output_ids: number[];
  meta_info: { finish_reason: { type: string }; weight_version: string };
}

const long = { max_new_tokens: 400, ignore_eos: true, sampling_seed: 1 };

function generate(server: TestServer, sampling: object = {}, rest: object = {}): Promise<Generated> {
  const body = {
    input_ids: [1, 2, 3],
    sampling_params: { max_new_tokens: 8, sampling_seed: 1, ...sampling },
    ...rest,
  };
  return server.json('/generate', body);
}

async function otherWeights(seed = 2, config = tinyConfig): Promise<string> {
  const folder = scratchFolder();
  await writeTinyModel(folder, seed, config);
  return folder;
}

async function weightVersion(server: TestServer): Promise<string> {
  const { weight_version } = (await (await server.get('/get_weight_version')).json()) as {
    weight_version: string;
  };
  return weight_version;
}

async function held(server: TestServer): Promise<string[]> {
  return (await server.engine.describe()).held;
}

describe('update_weights_from_disk', () => {
  it('answers later requests with the new weights, of a folder or a file, and holds no others', async () => {
    const server = await startTestServer();
    const before = await generate(server);
    const folder = await otherWeights();
    expect(
      await server.json('/update_weights_from_disk', { model_path: folder, weight_version: '2' }),
    ).toEqual({
      success: true,
      message: 'Succeeded to update model weights to version 2.',
      num_paused_requests: 0,
    });
    const after = await generate(server);
    expect(after.meta_info.weight_version).toBe('2');
    expect(after.output_ids).not.toEqual(before.output_ids);
    expect(await held(server)).toHaveLength(1);

    const file = join(server.folder, 'model.safetensors');
    await server.json('/update_weights_from_disk', {
      model_path: file,
      flush_cache: true,
      load_format: null,
    });
    expect((await generate(server)).output_ids).toEqual(before.output_ids);
    expect(await weightVersion(server)).toBe('2');
  });

  it('reads a file again whose content has changed', async () => {
    const server = await startTestServer();
    const file = join(server.folder, 'model.safetensors');
    const first = await generate(server);
    await rename(join(await otherWeights(), 'model.safetensors'), file);
    await server.json('/update_weights_from_disk', { model_path: file });
    const second = await generate(server);
    expect(second.output_ids).not.toEqual(first.output_ids);
    await rename(join(await otherWeights(1), 'model.safetensors'), file);
    await server.json('/update_weights_from_disk', { model_path: file });
    expect((await generate(server)).output_ids).toEqual(first.output_ids);
  });

  it('that fails says why and leaves the old weights serving', async () => {
    const server = await startTestServer();
    const before = await generate(server);
    const cut = join(scratchFolder(), 'cut.safetensors');
    await writeFile(cut, 'not a safetensors file');
    const empty = scratchFolder();
    await mkdir(empty, { recursive: true });
    const larger = await otherWeights(1, { ...tinyConfig, layers: 3 });
    for (const [path, reason] of [
      ['/nowhere', 'model_path /nowhere does not exist'],
      [cut, cut],
      [empty, 'has no config.json'],
      [larger, 'has layers 3, the served model 2'],
    ]) {
      const answer = await server.json(
        '/update_weights_from_disk',
        { model_path: path, weight_version: '9' },
        400,
      );
      expect(answer).toMatchObject({ success: false, message: expect.stringContaining(reason!) as string });
    }
    expect(await weightVersion(server)).toBe('1');
    expect((await generate(server)).output_ids).toEqual(before.output_ids);
  });

  it('under load loses no request: each is answered in full by the weights that it names', async () => {
    const server = await startTestServer({ slots: 8 });
    const folders = [server.folder, await otherWeights(2), await otherWeights(3)];
    const seeds = Array.from({ length: 40 }, (_, seed) => seed);
    const expected: string[][] = [];
    for (const folder of folders) {
      await server.json('/update_weights_from_disk', { model_path: folder });
      const answers = await Promise.all(seeds.map((sampling_seed) => generate(server, { sampling_seed })));
      expected.push(answers.map(({ output_ids }) => String(output_ids)));
    }
    let next = 0;
    const answers: [seed: number, answer: Generated][] = [];
    const ask = async (): Promise<void> => {
      for (let seed = next++; seed < 400; seed = next++) {
        answers.push([seed % 40, await generate(server, { sampling_seed: seed % 40 })]);
      }
    };
    const swap = async (): Promise<void> => {
      for (let version = 0; next < 400; version = (version + 1) % 3) {
        const body = { model_path: folders[version], weight_version: String(version) };
        await server.json('/update_weights_from_disk', body);
      }
    };
    await server.json('/update_weight_version', { new_version: '2' });
    await Promise.all([...Array.from({ length: 16 }, ask), swap()]);
    expect(answers).toHaveLength(400);
    const versions = new Set<string>();
    for (const [seed, { output_ids, meta_info }] of answers) {
      versions.add(meta_info.weight_version);
      expect(String(output_ids)).toBe(expected[Number(meta_info.weight_version)]![seed]);
    }
    expect([...versions].sort()).toEqual(['0', '1', '2']);
  });

  it('ends what is in flight when asked to', async () => {
    const server = await startTestServer();
    const running = generate(server, long);
    await inFlight(server, 1);
    await server.json('/update_weights_from_disk', { model_path: server.folder, abort_all_requests: true });
    expect((await running).meta_info.finish_reason.type).toBe('abort');
  });
});

describe('pause_generation', () => {
  it('ends what is in flight with what it has; later requests wait for continue_generation', async () => {
    const server = await startTestServer();
    const running = generate(server, long);
    await inFlight(server, 1);
    expect(await server.json('/pause_generation')).toEqual({
      message: 'Generation paused successfully.',
      status: 'ok',
    });
    const aborted = await running;
    expect(aborted.meta_info.finish_reason.type).toBe('abort');
    expect(aborted.output_ids.length).toBeLessThan(400);

    let answered = false;
    const waiting = generate(server).finally(() => (answered = true));
    await inFlight(server, 1);
    expect((await server.post('/flush_cache')).status).toBe(200);
    await server.json('/update_weights_from_disk', { model_path: await otherWeights(), weight_version: '2' });
    expect((await server.get('/health_generate')).status).toBe(503);
    expect((await server.get('/health')).status).toBe(200);
    expect(answered).toBe(false);
    await server.json('/continue_generation');
    expect((await waiting).meta_info.weight_version).toBe('2');
    expect((await server.get('/health_generate')).status).toBe(200);
  });

  it('outlasts work that was waiting for requests to stay away when it came', async () => {
    let finish!: () => void;
    const release = vi.fn(() => new Promise<void>((resolve) => (finish = resolve)));
    const server = await startTestServer({ engine: { ...scriptedEngine([1, 2]), release } });
    const flush = server.post('/flush_cache');
    await vi.waitUntil(() => release.mock.calls.length === 1);
    await server.json('/pause_generation');
    finish();
    expect((await flush).status).toBe(200);
    const waiting = generate(server);
    expect((await server.get('/health_generate')).status).toBe(503);
    await server.json('/continue_generation');
    expect((await waiting).output_ids).toEqual([1, 2]);
  });

  it('refuses the modes in which a request would go on', async () => {
    const server = await startTestServer();
    const { error } = await server.json<{ error: object }>('/pause_generation', { mode: 'in_place' }, 400);
    expect(error).toMatchObject({ param: 'mode' });
    await server.json('/pause_generation', { mode: 'abort' });
  });
});

describe('abort_request', () => {
  it('ends the request of a name with what it has, and no other; a name that is gone is no error', async () => {
    const server = await startTestServer();
    const one = generate(server, long, { rid: 'one' });
    const two = generate(server, { ...long, max_new_tokens: 100 }, { rid: 'two' });
    await inFlight(server, 2);
    expect((await server.post('/abort_request', { rid: 'one' })).status).toBe(200);
    const aborted = await one;
    expect(aborted.meta_info).toMatchObject({ id: 'one', finish_reason: { type: 'abort' } });
    const whole = await generate(server, long);
    expect(whole.output_ids.slice(0, aborted.output_ids.length)).toEqual(aborted.output_ids);
    expect((await two).output_ids).toHaveLength(100);
    expect((await server.post('/abort_request', { rid: 'one' })).status).toBe(200);
    expect((await server.post('/abort_request')).status).toBe(400);
  });

  it('with abort_all ends every request, also those that wait for a slot', async () => {
    const server = await startTestServer({ slots: 2 });
    const all = Promise.all(Array.from({ length: 6 }, () => generate(server, long)));
    await inFlight(server, 6);
    await server.post('/abort_request', { abort_all: true });
    for (const { meta_info } of await all) expect(meta_info.finish_reason.type).toBe('abort');
    await inFlight(server, 0);
  });
});

it('flush_cache tells whether requests are in flight', async () => {
  const server = await startTestServer();
  expect((await server.get('/flush_cache')).status).toBe(200);
  const running = generate(server, long);
  await inFlight(server, 1);
  expect((await server.post('/flush_cache')).status).toBe(400);
  await server.post('/abort_request', { abort_all: true });
  await running;
});

describe('release_memory_occupation', () => {
  it('drops weights and cache; requests get 503 until resume, and then the same answers', async () => {
    const server = await startTestServer();
    const before = await generate(server);
    const running = generate(server, long);
    await inFlight(server, 1);
    expect((await server.post('/release_memory_occupation')).status).toBe(400);
    await server.post('/abort_request', { abort_all: true });
    await running;

    expect((await server.post('/release_memory_occupation', { tags: ['weights', 'kv_cache'] })).status).toBe(
      200,
    );
    expect(await held(server)).toEqual([]);
    const refused = await server.post('/generate', { input_ids: [1] });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({ error: { code: 'memory_released' } });

    expect((await server.post('/resume_memory_occupation', { tags: ['weights'] })).status).toBe(200);
    expect((await server.post('/generate', { input_ids: [1] })).status).toBe(503);
    expect((await server.post('/resume_memory_occupation', { tags: ['kv_cache'] })).status).toBe(200);
    expect((await generate(server)).output_ids).toEqual(before.output_ids);
  });

  it('takes new weights while the old are released', async () => {
    const server = await startTestServer();
    await server.post('/release_memory_occupation');
    await server.json('/update_weights_from_disk', { model_path: await otherWeights(), weight_version: '2' });
    await server.post('/resume_memory_occupation', { tags: ['kv_cache'] });
    expect((await generate(server)).meta_info.weight_version).toBe('2');
  });
});

it('a caller that goes away frees its slot', async () => {
  const server = await startTestServer({ slots: 1 });
  const caller = new AbortController();
  const gone = server.post('/generate', { input_ids: [1], sampling_params: long }, { signal: caller.signal });
  await inFlight(server, 1);
  caller.abort();
  await expect(gone).rejects.toThrow();
  await inFlight(server, 0);
  const streaming = new AbortController();
  const answer = await server.post(
    '/generate',
    { input_ids: [1], stream: true, sampling_params: long },
    { signal: streaming.signal },
  );
  expect(answer.status).toBe(200);
  await answer.body!.getReader().read();
  streaming.abort();
  await inFlight(server, 0);
});

it('refuses requests when too many wait, and says when to come again', async () => {
  const server = await startTestServer({ settings: { maxWaiting: 2 } });
  await server.json('/pause_generation');
  const waiting = [generate(server), generate(server)];
  await inFlight(server, 2);
  const refused = await server.post('/generate', { input_ids: [1] });
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'queue_full' } });
  await server.json('/continue_generation');
  await Promise.all(waiting);
  expect((await generate(server)).output_ids).toHaveLength(8);
});
