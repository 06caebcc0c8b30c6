import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { plainSampling, randomPrompts } from '../../tests/fixtures/generation.ts';
import { tinyConfig, writeTinyModel } from '../../tests/fixtures/tiny-model.ts';
import { adamSettings, randomRows } from '../../tests/fixtures/training.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import type { Completion, Engine, WeightsSource } from '../engine-port.ts';
import { trainEverything } from '../training-setup.ts';
import type { EngineChildOptions, EngineLoss } from './engine-child.ts';
import { EngineClient } from './engine-client.ts';
import { EmbeddedEngine } from './engine.ts';

const settings = { config: tinyConfig, threads: 1, slots: 4 };
const loader = fileURLToPath(new URL('../../tests/harness/typescript-loader.mjs', import.meta.url));
const prompts = randomPrompts(tinyConfig, { count: 6, samples: 2, longest: 8 });
const long = { ...plainSampling, maxNewTokens: 200, stopIds: [] };
const slow = 30_000;

function openClient(options: EngineChildOptions = {}): EngineClient {
  const client = new EngineClient(settings, { execArgv: ['--import', loader], ...options });
  onTestFinished(() => client.close());
  return client;
}

async function tinyWeights(): Promise<WeightsSource> {
  const folder = scratchFolder();
  await writeTinyModel(folder);
  return { tag: 'tiny', path: join(folder, 'model.safetensors') };
}

async function generate(engine: Engine, onSome = () => {}): Promise<string> {
  const completions: Completion[] = [];
  await engine.generate({ weights: 'tiny', prompts, sampling: long }, (some) => {
    completions.push(...some);
    onSome();
  });
  completions.sort((a, b) => a.prompt - b.prompt || a.sample - b.sample);
  return JSON.stringify(completions);
}

async function trainStep(engine: Engine, index: number): Promise<void> {
  await engine.forwardBackward(randomRows(tinyConfig, index), { name: 'cross-entropy' }, 1);
  await engine.optimizerStep(adamSettings);
}

describe('an engine in a child process', () => {
  it(
    'whose settings do not fit together says so at each call, and that no retry can help',
    async () => {
      const training = { ...trainEverything, frozen: ['model.no_such_tensor'] };
      const client = new EngineClient({ ...settings, training }, { execArgv: ['--import', loader] });
      onTestFinished(() => client.close());
      for (let call = 0; call < 2; call++) {
        await expect(client.describe()).rejects.toMatchObject({ kind: 'RecipeError', retryable: false });
      }
    },
    slow,
  );

  it(
    'gives the bytes of the engine in this process, and answers other calls meanwhile',
    async () => {
      const here = new EmbeddedEngine(settings);
      const source = await tinyWeights();
      await here.load(source);
      const client = openClient();
      await client.load(source);
      let finished = false;
      const generation = generate(client).finally(() => (finished = true));
      const description = await client.describe();
      expect(finished).toBe(false);
      expect(description).toMatchObject({ processId: client.processId, held: ['tiny'] });
      expect(description.processId).not.toBe(process.pid);
      expect(await generation).toBe(await generate(here));
    },
    slow,
  );

  it(
    'killed during a generation: the call fails and says why; after a load the next gives the same bytes',
    async () => {
      const client = openClient();
      const source = await tinyWeights();
      await client.load(source);
      const undisturbed = await generate(client);
      const first = client.processId!;
      const killed = generate(client, () => process.kill(first, 'SIGKILL'));
      await expect(killed).rejects.toMatchObject({
        kind: 'EngineError',
        retryable: true,
        message: 'engine process exited (signal SIGKILL)',
      });
      await expect(generate(client)).rejects.toThrow('weights not loaded: tiny');
      expect(client.processId).not.toBe(first);
      await client.load(source);
      expect(await generate(client)).toBe(undisturbed);
    },
    slow,
  );

  it(
    'killed after an optimizer step: the update redone from its parent has the same hash',
    async () => {
      const source = await tinyWeights();
      const update = async (engine: Engine): Promise<string> => {
        await engine.beginUpdate(source, null, 0);
        for (const index of [0, 1]) await trainStep(engine, index);
        return (await engine.save(scratchFolder())).weightsTag;
      };
      const client = openClient();
      await client.beginUpdate(source, null, 0);
      await trainStep(client, 0);
      const first = client.processId!;
      process.kill(first, 'SIGKILL');
      await expect(trainStep(client, 1)).rejects.toMatchObject({ kind: 'EngineError' });
      const redone = await update(client);
      expect(client.processId).not.toBe(first);
      expect(redone).toBe(await update(new EmbeddedEngine(settings)));
    },
    slow,
  );

  it(
    'that died between two calls of an update refuses to go on with it in another process',
    async () => {
      const client = openClient();
      await client.beginUpdate(await tinyWeights(), null, 0);
      await client.forwardBackward(randomRows(tinyConfig, 0), { name: 'cross-entropy' }, 1);
      process.kill(client.processId!, 'SIGKILL');
      await vi.waitUntil(() => client.processId === undefined);
      await expect(client.optimizerStep(adamSettings)).rejects.toThrow('no update was begun');
      await expect(client.save(scratchFolder())).rejects.toThrow('no update was begun');
    },
    slow,
  );

  it(
    'an abort rejects with its reason and frees the engine; errors keep cause and hint',
    async () => {
      const client = openClient();
      await client.load(await tinyWeights());
      const controller = new AbortController();
      const request = { weights: 'tiny', prompts, sampling: { ...long, maxNewTokens: 500 } };
      const aborted = client.generate(request, () => {}, controller.signal);
      await client.describe();
      controller.abort(new Error('enough'));
      await expect(aborted).rejects.toThrow('enough');
      const tooLong = { ...request, sampling: { ...long, maxNewTokens: 512 } };
      await expect(client.generate(tooLong, () => {})).rejects.toMatchObject({
        kind: 'EngineError',
        retryable: false,
        hint: expect.stringContaining('maxNewTokens'),
      });
      await expect(client.load({ tag: 'x', path: '/nowhere.safetensors' })).rejects.toMatchObject({
        kind: 'ModelError',
      });
    },
    slow,
  );

  it(
    'that is stopped in the midst of its work is found out and killed; one that has no work is left alone',
    async () => {
      const losses: EngineLoss[] = [];
      const client = openClient({ hangSeconds: 1, onLost: (loss) => losses.push(loss) });
      const source = await tinyWeights();
      await client.load(source);
      const first = client.processId!;
      const stopped = generate(client, () => process.kill(first, 'SIGSTOP'));
      const expectation = expect(stopped).rejects.toMatchObject({
        kind: 'EngineError',
        retryable: true,
        message: 'engine hung in generate for 1 s',
      });
      await vi.waitFor(() => expect(readFileSync(`/proc/${first}/stat`, 'utf8')).toContain(') T '), {
        timeout: 10_000,
        interval: 20,
      });
      await expectation;
      await vi.waitUntil(() => losses.length > 0);
      expect(losses).toEqual([{ how: 'engine hung in generate for 1 s', hung: true, inFlight: 1 }]);

      await client.load(source);
      const second = client.processId!;
      expect(second).not.toBe(first);
      await delay(1_200);
      expect(client.processId).toBe(second);
    },
    slow,
  );

  it(
    'that is killed while it has no work tells how it ended',
    async () => {
      const losses: EngineLoss[] = [];
      const client = openClient({ onLost: (loss) => losses.push(loss) });
      process.kill((await client.describe()).processId, 'SIGKILL');
      await vi.waitUntil(() => losses.length > 0);
      await client.describe();
      await client.close();
      expect(losses).toEqual([{ how: 'signal SIGKILL', hung: false, inFlight: 0 }]);
    },
    slow,
  );

  it(
    'that cannot start fails its calls with what it printed',
    async () => {
      const client = new EngineClient(settings, {
        execArgv: ['--import', 'data:text/javascript,throw Error("no")'],
      });
      await expect(client.describe()).rejects.toThrow(/exited \(code 1\) before it was ready: .*no/);
      await client.close();
    },
    slow,
  );

  it(
    'ends on close, and then refuses calls',
    async () => {
      const client = openClient();
      const { processId } = await client.describe();
      await client.close();
      expect(() => process.kill(processId, 0)).toThrow(/ESRCH/);
      await expect(client.describe()).rejects.toThrow('the engine was closed');
    },
    slow,
  );
});
