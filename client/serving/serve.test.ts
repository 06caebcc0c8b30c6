/** `rekindle serve` as it is run: an engine in a process of its own behind a port. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadRecipe } from '../../activities/recipe/load-recipe.ts';
import type { Opening } from '../../activities/run/opening.ts';
import { keys } from '../../core/ids.ts';
import { initialEntry } from '../../core/policy.ts';
import type { LogEntry } from '../../core/records.ts';
import { mediaTypes, type Ref } from '../../core/refs.ts';
import type { Store } from '../../store/store.ts';
import { tinyConfig, writeTinyModel } from '../../tests/fixtures/tiny-model.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import { storeOf } from '../local-runs.ts';
import { runCli } from '../program.ts';
import { serve, type ServeOptions, type Serving } from './serve.ts';

const slow = 60_000;
const run = 'followed';
const quick: ServeOptions = { port: 0, slots: 2, threads: 1, graceSeconds: 0 };

beforeAll(() => {
  // The engine's process runs the TypeScript sources, as this one does.
  const loader = fileURLToPath(new URL('../../tests/harness/typescript-loader.mjs', import.meta.url));
  process.execArgv.push('--import', loader);
});

async function tinyFolder(seed = 1): Promise<string> {
  const folder = scratchFolder();
  await writeTinyModel(folder, seed);
  return folder;
}

async function putWeights(store: Store, seed: number): Promise<Ref> {
  return store.putFile(join(await tinyFolder(seed), 'model.safetensors'), mediaTypes.safetensors);
}

/** A run whose version 0 has the weights of seed 1. */
async function openRun(home: string): Promise<{ store: Store; head: LogEntry }> {
  const store = storeOf(home);
  const folder = await tinyFolder();
  const names = [
    'config.json',
    'generation_config.json',
    'tokenizer.json',
    'tokenizer_config.json',
    'chat_template.jinja',
  ];
  const modelFiles: Record<string, Ref> = {};
  for (const name of names) {
    modelFiles[name] = await store.putBytes(await readFile(join(folder, name)), mediaTypes.json);
  }
  const initial = await putWeights(store, 1);
  const opening: Opening = {
    given: { recipe: 'smoke', set: [] },
    recipe: await loadRecipe('smoke', []),
    modelFiles,
    initial,
    base: null,
    evaluationBatch: null,
  };
  const provenance = { startedAt: 'a', finishedAt: 'b', attempt: 1, worker: 'test' };
  await store.recordResult(run, keys.opening(), { value: opening, provenance });
  return { store, head: await store.append(initialEntry(run, initial)) };
}

async function commit(store: Store, parent: LogEntry, seed: number): Promise<LogEntry> {
  const version = parent.version + 1;
  return store.append({
    ...parent,
    kind: 'reinforcement',
    version,
    iteration: version,
    optimizerStep: version,
    parent: parent.weights.hash,
    weights: await putWeights(store, seed),
  });
}

/** Serves until the test is over. */
async function started(home: string, target: string, options: ServeOptions = {}): Promise<Serving> {
  const stop = new AbortController();
  let end: Promise<void> | undefined;
  onTestFinished(async () => {
    stop.abort();
    await end;
  });
  return new Promise((resolve, reject) => {
    end = serve(home, target, { ...quick, ...options }, resolve, stop.signal).catch(reject);
  });
}

interface Generated {
  output_ids: number[];
  meta_info: { weight_version: string };
}

async function generate(url: string): Promise<Generated> {
  const body = { input_ids: [1, 2, 3], sampling_params: { sampling_seed: 1, max_new_tokens: 8 } };
  const answer = await fetch(`${url}/generate`, { method: 'POST', body: JSON.stringify(body) });
  return (await answer.json()) as Generated;
}

describe('a served run', () => {
  it(
    'is at its newest version, follows newer ones, and answers as their weights do',
    async () => {
      const home = scratchFolder();
      const { store, head } = await openRun(home);
      const { url, model, weightVersion } = await started(home, run, { follow: 0.1 });
      expect({ model, weightVersion }).toEqual({ model: run, weightVersion: '0' });
      const first = await generate(url);
      const one = await commit(store, head, 2);
      await vi.waitUntil(async () => (await generate(url)).meta_info.weight_version === '1', slow);
      const second = await generate(url);
      expect(second.output_ids).not.toEqual(first.output_ids);
      // Two at once: only the newest counts.
      await commit(store, await commit(store, one, 3), 1);
      await vi.waitUntil(async () => (await generate(url)).meta_info.weight_version === '3', slow);
      expect((await generate(url)).output_ids).toEqual(first.output_ids);
    },
    slow,
  );

  it(
    'is at the version that was named, and stays there',
    async () => {
      const home = scratchFolder();
      const { store, head } = await openRun(home);
      await commit(store, head, 2);
      const { weightVersion } = await started(home, `${run}@0`);
      expect(weightVersion).toBe('0');
    },
    slow,
  );

  it('is refused where there is nothing to serve or to follow', async () => {
    const home = scratchFolder();
    await openRun(home);
    await expect(started(home, 'nowhere')).rejects.toMatchObject({ kind: 'RunNotFoundError' });
    await expect(started(home, '/no/such/folder')).rejects.toThrow('no such model folder');
    await expect(started(home, `${run}@7`)).rejects.toMatchObject({ kind: 'RunNotFoundError' });
    await expect(started(home, `${run}@x`)).rejects.toMatchObject({ kind: 'UsageError' });
    await expect(started(home, `${run}@0`, { follow: 1 })).rejects.toMatchObject({ kind: 'UsageError' });
    await expect(started(home, await tinyFolder(), { follow: 1 })).rejects.toMatchObject({
      kind: 'UsageError',
    });
  });
});

it.runIf(process.platform === 'linux')(
  'released memory goes back to the system: weights, their packed copy and the cache',
  async () => {
    const large = {
      ...tinyConfig,
      hiddenSize: 512,
      layers: 6,
      feedForwardSize: 2048,
      heads: 8,
      headSize: 64,
    };
    const megabytes = 90;
    const folder = scratchFolder();
    await writeTinyModel(folder, 1, large);
    const { url } = await started(scratchFolder(), folder);
    const resident = async (): Promise<number> => {
      const text = await (await fetch(`${url}/metrics`)).text();
      return Number(/^process_resident_memory_bytes (\d+)$/m.exec(text)![1]) / 1e6;
    };
    const first = await generate(url);
    const busy = await resident();
    await fetch(`${url}/release_memory_occupation`, { method: 'POST' });
    expect(await resident()).toBeLessThan(busy - 1.5 * megabytes);
    await fetch(`${url}/resume_memory_occupation`, { method: 'POST' });
    expect((await generate(url)).output_ids).toEqual(first.output_ids);
  },
  slow,
);

it(
  'the command serves a folder until it is interrupted, and then ends well',
  async () => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    let interrupt = (): void => undefined;
    const ended = runCli(
      [
        'serve',
        await tinyFolder(),
        '--port',
        '0',
        '--threads',
        '1',
        '--slots',
        '2',
        '--name',
        'mine',
        '--json',
      ],
      {
        stdin: new PassThrough(),
        stdout,
        stderr,
        interactive: false,
        env: { REKINDLE_SERVE_TOKEN: 'secret' },
        onInterrupt: (listener) => {
          interrupt = listener;
          return () => undefined;
        },
      },
    );
    const line = await new Promise<string>((resolve) => stdout.once('data', (data) => resolve(String(data))));
    const { url, model, processId } = JSON.parse(line) as Serving;
    expect(model).toBe('mine');
    expect((await fetch(`${url}/v1/models`)).status).toBe(401);
    const headers = { authorization: 'Bearer secret' };
    expect(await (await fetch(`${url}/v1/models`, { headers })).json()).toMatchObject({
      data: [{ id: 'mine', max_model_len: 512 }],
    });
    interrupt();
    expect(await ended).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
    expect(() => process.kill(processId, 0)).toThrow(/ESRCH/);
  },
  slow,
);

it('the command refuses an address that others can reach without a token', async () => {
  const stderr = new PassThrough();
  const code = await runCli(['serve', await tinyFolder(), '--host', '0.0.0.0', '--port', '0'], {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr,
    interactive: false,
    env: {},
    onInterrupt: () => () => undefined,
  });
  expect(code).toBe(64);
  expect(String(stderr.read())).toContain('refusing to serve on 0.0.0.0 without a token');
});
