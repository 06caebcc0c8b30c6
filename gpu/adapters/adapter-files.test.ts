import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { plainSampling, randomPrompts } from '../../tests/fixtures/generation.ts';
import { tinyConfig, writeTinyModel } from '../../tests/fixtures/tiny-model.ts';
import { adamSettings, randomRows, uniform } from '../../tests/fixtures/training.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import { EmbeddedEngine } from '../embedded/engine.ts';
import { weightsLayout } from '../embedded/weights-layout.ts';
import type { Completion, Engine, WeightsSource } from '../engine-port.ts';
import { readSafetensors, writeSafetensors } from '../model/safetensors.ts';
import { trainEverything } from '../training-setup.ts';
import { readAdapter, readAdapterForm, writeAdapter, writeNewAdapter } from './adapter-files.ts';
import { adapterLayout } from './adapter-layout.ts';
import { adapterConfigFile, adapterFileNames, parseAdapterConfig } from './peft-config.ts';

const settings = { rank: 4, alpha: 8, targets: ['q_proj', 'o_proj'], rankStabilized: false } as const;
const adapter = { ...settings, targets: [...settings.targets] };
const base = weightsLayout(tinyConfig);
const layout = adapterLayout(base, adapter, false);
const engineSettings = { config: tinyConfig, threads: 1, slots: 2 };
const trainsAdapter = { ...engineSettings, training: { ...trainEverything, adapter } };

async function fullWeights(): Promise<WeightsSource> {
  const folder = scratchFolder();
  await writeTinyModel(folder);
  return { tag: 'base', path: join(folder, 'model.safetensors') };
}

async function newAdapter(): Promise<WeightsSource> {
  const path = join(scratchFolder(), adapterFileNames.weights);
  return { tag: await writeNewAdapter(path, tinyConfig, adapter, 1), path, base: await fullWeights() };
}

/** A file like `path` in a folder of its own, without metadata, with tensors changed. */
async function changed(
  path: string,
  change: (tensors: Awaited<ReturnType<typeof readSafetensors>>['tensors']) => void,
): Promise<string> {
  const { tensors } = await readSafetensors(path);
  change(tensors);
  const copy = join(scratchFolder(), adapterFileNames.weights);
  await writeSafetensors(copy, tensors);
  await writeFile(
    join(copy, '..', adapterFileNames.config),
    adapterConfigFile(adapter, { scored: false, baseModel: null }),
  );
  return copy;
}

async function generate(engine: Engine, weights: string): Promise<string> {
  const prompts = randomPrompts(tinyConfig, { count: 3, samples: 2, longest: 8 });
  const completions: Completion[] = [];
  await engine.generate({ weights, prompts, sampling: plainSampling }, (some) => completions.push(...some));
  completions.sort((a, b) => a.prompt - b.prompt || a.sample - b.sample);
  return JSON.stringify(completions);
}

describe('an adapter file', () => {
  it('has the names and shapes of PEFT, and comes back as it was written', async () => {
    const path = join(scratchFolder(), adapterFileNames.weights);
    const flat = uniform(layout.parameters, 1);
    await writeAdapter(path, base, { settings: adapter, scored: false }, flat);
    const { tensors } = await readSafetensors(path);
    expect(tensors.get('base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight')!.shape).toEqual([
      4, 32,
    ]);
    expect(tensors.get('base_model.model.model.layers.1.self_attn.q_proj.lora_B.weight')!.shape).toEqual([
      64, 4,
    ]);
    expect(tensors).toHaveLength(8);
    const form = await readAdapterForm(path);
    expect(form).toEqual({ settings: adapter, scored: false });
    expect(await readAdapter(path, base, form)).toEqual(flat);
  });

  it('that is new adds nothing, and is the same for the same seed', async () => {
    const [one, other] = [await newAdapter(), await newAdapter()];
    expect(one.tag).toBe(other.tag);
    const flat = await readAdapter(one.path, base, await readAdapterForm(one.path));
    const bound = 1 / Math.sqrt(32);
    for (const { name, shape, offset, length } of layout.tensors) {
      const values = flat.subarray(offset, offset + length);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      if (name.endsWith('.b')) expect([low, high]).toEqual([0, 0]);
      else if (shape[1] === 32) {
        expect(high).toBeLessThanOrEqual(bound);
        expect(low).toBeGreaterThanOrEqual(-bound);
        expect(high - low).toBeGreaterThan(1.8 * bound);
      }
    }
    const engine = new EmbeddedEngine(engineSettings);
    await engine.load(one.base!);
    await engine.load(one);
    expect(await generate(engine, one.tag)).toBe(await generate(engine, 'base'));
  });

  it.each([
    [
      'another rank',
      /lora_A.weight is \[3, 32\], expected \[4, 32\]/,
      'q_proj.lora_A',
      [3, 32],
      'q_proj.lora_A',
    ],
    [
      'a module that ours does not adapt',
      /adapts the module embed_tokens; expected some of/,
      'q_proj.lora_A',
      [4, 32],
      'embed_tokens.lora_A',
    ],
    [
      'a missing tensor',
      /q_proj.lora_A.weight is missing, expected \[4, 32\]/,
      'layers.1.self_attn.q_proj.lora_A',
      null,
      '',
    ],
    [
      'an unknown tensor',
      /tensor .*q_proj.lora_magnitude.weight is not part of this model/,
      'q_proj.lora_A',
      'add',
      'q_proj.lora_magnitude',
    ],
  ] as const)('with %s is refused', async (_, message, part, shape, newPart) => {
    const source = await newAdapter();
    const path = await changed(source.path, (tensors) => {
      const name = [...tensors.keys()].find((key) => key.includes(part))!;
      const tensor = tensors.get(name)!;
      if (shape !== 'add') tensors.delete(name);
      if (shape === 'add') tensors.set(name.replace(part, newPart), tensor);
      else if (shape)
        tensors.set(name.replace(part, newPart), {
          shape: [...shape],
          data: new Float32Array(shape[0] * shape[1]),
        });
    });
    const engine = new EmbeddedEngine(engineSettings);
    const refused = expect.objectContaining({
      kind: 'ModelError',
      message: expect.stringMatching(message) as string,
    });
    await expect(engine.load({ ...source, tag: 'broken', path })).rejects.toEqual(refused);
  });

  it('without rank and alpha in itself or beside it is refused', async () => {
    const path = join(scratchFolder(), adapterFileNames.weights);
    const { tensors } = await readSafetensors((await newAdapter()).path);
    await writeSafetensors(path, tensors);
    await expect(readAdapterForm(path)).rejects.toThrow(/adapter_config.json cannot be read/);
  });
});

describe('adapter_config.json', () => {
  const written = JSON.parse(
    Buffer.from(adapterConfigFile(adapter, { scored: false, baseModel: null })).toString(),
  ) as Record<string, unknown>;
  const parse = (changes: Record<string, unknown>) =>
    parseAdapterConfig(JSON.stringify({ ...written, ...changes }), 'adapter_config.json');

  it('says what was written', () => {
    expect(parse({})).toEqual({ rank: 4, alpha: 8, rankStabilized: false });
    expect(written['target_modules']).toEqual(['q_proj', 'o_proj']);
  });

  it.each([
    ['peft_type', 'IA3'],
    ['use_dora', true],
    ['bias', 'all'],
    ['rank_pattern', { q_proj: 8 }],
    ['layers_to_transform', [0]],
    ['modules_to_save', ['lm_head']],
    ['init_lora_weights', 'pissa'],
    ['r', 0],
  ])('with %s = %j is refused', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(
      `adapter_config.json: ${key} is ${JSON.stringify(value)}, which is not supported`,
    );
  });

  it('that is not JSON is refused', () => {
    expect(() => parseAdapterConfig('{', 'adapter_config.json')).toThrow('adapter_config.json is not JSON');
  });
});

describe('an engine that trains an adapter', () => {
  it('saves a policy that generates, merged, the same from memory and from its file', async () => {
    const engine = new EmbeddedEngine(trainsAdapter);
    const source = await newAdapter();
    await engine.beginUpdate(source, null, 0);
    await engine.forwardBackward(randomRows(tinyConfig, 0), { name: 'cross-entropy' }, 1);
    await engine.optimizerStep({ ...adamSettings, learningRate: 0.1 });
    const { weightsPath, weightsTag } = await engine.save(scratchFolder());
    expect((await readFile(weightsPath)).length).toBeLessThan(20_000);
    const trained = { tag: weightsTag, path: weightsPath, base: source.base! };
    await engine.load(trained);

    const other = new EmbeddedEngine(engineSettings);
    await other.load(trained);
    await other.load(source.base!);
    const text = await generate(other, weightsTag);
    expect(await generate(engine, weightsTag)).toBe(text);
    expect(await generate(other, 'base')).not.toBe(text);
    expect((await engine.describe()).held).toContain('base');
  });

  it('refuses weights without a base, and an adapter of another form; one that trains all refuses an adapter', async () => {
    const source = await newAdapter();
    const engine = new EmbeddedEngine(trainsAdapter);
    await expect(engine.beginUpdate(source.base!, null, 0)).rejects.toThrow(/came without a base/);
    await expect(new EmbeddedEngine(engineSettings).beginUpdate(source, null, 0)).rejects.toThrow(
      /came as an adapter on a base/,
    );
    const wider = { ...trainsAdapter, training: { ...trainEverything, adapter: { ...adapter, alpha: 16 } } };
    await expect(new EmbeddedEngine(wider).beginUpdate(source, null, 0)).rejects.toThrow(
      /is an adapter of rank 4, alpha 8, on q_proj, o_proj; this engine trains one of rank 4, alpha 16/,
    );
  });
});
