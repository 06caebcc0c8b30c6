import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { expect, describe, it } from 'vitest';
import { plainSampling, randomPrompts } from '../../tests/fixtures/generation.ts';
import { tinyConfig, writeTinyModel } from '../../tests/fixtures/tiny-model.ts';
import { adamSettings, randomRows } from '../../tests/fixtures/training.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import type { Completion, Engine, WeightsSource } from '../engine-port.ts';
import { EmbeddedEngine } from './engine.ts';

const settings = { config: tinyConfig, threads: 1, slots: 4 };
const crossEntropy = { name: 'cross-entropy' } as const;
const prompts = randomPrompts(tinyConfig, { count: 4, samples: 2, longest: 8 });

async function tinyWeights(seed = 1): Promise<WeightsSource> {
  const folder = scratchFolder();
  await writeTinyModel(folder, seed);
  return { tag: `tiny-${seed}`, path: join(folder, 'model.safetensors') };
}

async function generate(engine: Engine, weights: string): Promise<string> {
  const completions: Completion[] = [];
  await engine.generate({ weights, prompts, sampling: plainSampling }, (some) => completions.push(...some));
  completions.sort((a, b) => a.prompt - b.prompt || a.sample - b.sample);
  return JSON.stringify(completions);
}

async function train(engine: Engine, steps: number): Promise<void> {
  for (let i = 0; i < steps; i++) {
    await engine.forwardBackward(randomRows(tinyConfig, i), crossEntropy, 1);
    await engine.optimizerStep(adamSettings);
  }
}

describe('held weights', () => {
  it('are dropped least recently used first, down to those asked to be kept beside the loaded set', async () => {
    const engine = new EmbeddedEngine(settings);
    const [a, b, c] = [await tinyWeights(1), await tinyWeights(2), await tinyWeights(3)];
    await engine.load(a);
    await engine.load(b);
    await engine.load(a);
    await engine.load(c);
    expect((await engine.describe()).held).toEqual(['tiny-1', 'tiny-3']);
    await engine.load(c, 0);
    expect((await engine.describe()).held).toEqual(['tiny-3']);
  });

  it('that are missing are an EngineError, a retryable one', async () => {
    const engine = new EmbeddedEngine(settings);
    const missing = expect.objectContaining({ kind: 'EngineError', retryable: true });
    await expect(generate(engine, 'sha256:none')).rejects.toEqual(missing);
    await expect(engine.score('sha256:none', randomRows(tinyConfig, 0), 1)).rejects.toThrow(
      'weights not loaded: sha256:none',
    );
  });

  it('go on generating what they would, while training changes the policy that began with them', async () => {
    const engine = new EmbeddedEngine(settings);
    const source = await tinyWeights();
    await engine.load(source);
    const before = await generate(engine, source.tag);
    await engine.beginUpdate(source, null, 0);
    const [during] = await Promise.all([generate(engine, source.tag), train(engine, 3)]);
    expect(during).toBe(before);
    expect(await generate(engine, source.tag)).toBe(before);
  });
});

describe('an update', () => {
  it('that was not begun is refused, so that an engine that was restarted does not train zeros', async () => {
    const engine = new EmbeddedEngine(settings);
    await engine.load(await tinyWeights());
    const refused = expect.objectContaining({
      kind: 'EngineError',
      retryable: true,
      message: 'no update was begun',
    });
    await expect(engine.forwardBackward(randomRows(tinyConfig, 0), crossEntropy, 1)).rejects.toEqual(refused);
    await expect(engine.optimizerStep(adamSettings)).rejects.toEqual(refused);
    await expect(engine.save(scratchFolder())).rejects.toEqual(refused);
  });

  it('after another, in an engine that never loads, leaves no set held but that of the trained policy itself', async () => {
    const engine = new EmbeddedEngine(settings);
    let parent = await tinyWeights();
    for (let i = 0; i < 3; i++) {
      await engine.beginUpdate(parent, null, 0);
      await train(engine, 1);
      expect((await engine.describe()).held).toEqual([]);
      const { weightsTag, weightsPath } = await engine.save(scratchFolder());
      parent = { tag: weightsTag, path: weightsPath };
      expect((await engine.describe()).held).toEqual([weightsTag]);
    }
  });
});

describe('a saved policy', () => {
  it('is held under the hash of its file, and the file loads to the same policy, bit for bit', async () => {
    const engine = new EmbeddedEngine(settings);
    await engine.beginUpdate(await tinyWeights(), null, 0);
    await train(engine, 2);
    const folder = scratchFolder();
    const saved = await engine.save(folder);
    const hash = createHash('sha256')
      .update(await readFile(saved.weightsPath))
      .digest('hex');
    expect(saved.weightsTag).toBe(`sha256:${hash}`);

    const other = new EmbeddedEngine(settings);
    const weights = { tag: saved.weightsTag, path: saved.weightsPath };
    const optimizer = { tag: 'optimizer', path: saved.optimizerPath };
    await other.load(weights);
    expect(await generate(other, saved.weightsTag)).toBe(await generate(engine, saved.weightsTag));

    await other.beginUpdate(weights, optimizer, 2);
    const again = await other.save(scratchFolder());
    for (const path of ['weightsPath', 'optimizerPath'] as const) {
      expect((await readFile(again[path])).equals(await readFile(saved[path]))).toBe(true);
    }

    await train(engine, 1);
    await train(other, 1);
    const next = await Promise.all([engine.save(scratchFolder()), other.save(scratchFolder())]);
    expect(next[1].weightsTag).toBe(next[0].weightsTag);
    expect(next[0].weightsTag).not.toBe(saved.weightsTag);
  });

  it('refuses optimizer state of another step, and weights of another shape', async () => {
    const engine = new EmbeddedEngine(settings);
    const source = await tinyWeights();
    await engine.beginUpdate(source, null, 0);
    const { optimizerPath } = await engine.save(scratchFolder());
    const optimizer = { tag: 'optimizer', path: optimizerPath };
    await expect(engine.beginUpdate(source, optimizer, 7)).rejects.toThrow(
      /metadata optimizer_step is 0, expected 7/,
    );
    const wider = new EmbeddedEngine({ ...settings, config: { ...tinyConfig, feedForwardSize: 80 } });
    await expect(wider.load(source)).rejects.toThrow(/gate_proj.weight is \[64, 32\], expected \[80, 32\]/);
  });
});
