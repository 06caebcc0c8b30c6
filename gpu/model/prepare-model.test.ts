import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tinyConfig, writeTinyModel } from '../../tests/fixtures/tiny-model.ts';
import { loadTokenizer } from '../tokenizer/index.ts';
import { parseHuggingFaceConfig } from './huggingface-config.ts';
import { decoderTensors } from './decoder-tensors.ts';
import { prepareModel } from './prepare-model.ts';
import { readSafetensors, writeSafetensors } from './safetensors.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'rekindle-prepare-'));
});
afterAll(() => rm(root, { recursive: true }));

const initialize = {
  family: 'llama' as const,
  hiddenSize: 16,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headSize: 16,
  feedForwardSize: 24,
  ropeTheta: 500,
  normEpsilon: 1e-5,
  embeddingStd: 0.1,
  maxPositions: 32,
  tiedHead: true,
  tokenizer: 'characters' as const,
};

describe('prepareModel with model.initialize', () => {
  it('gives a config, files that agree with it, and every tensor of the architecture', async () => {
    const { config, files, writeWeights } = await prepareModel({ seed: 1, model: { initialize } });
    expect(parseHuggingFaceConfig(files['config.json']!, 'config.json')).toEqual({
      decoder: config,
      bosId: null,
      eosIds: [10],
    });
    expect(config).toMatchObject({ vocabSize: 128, ropeTheta: 500, maxPositions: 32 });
    expect(loadTokenizer(files)).toMatchObject({ vocabSize: 128, stopIds: [10] });

    await writeWeights(join(root, 'new'));
    const { tensors, metadata } = await readSafetensors(join(root, 'new'));
    const shapes = Array.from(tensors, ([name, { shape }]) => [name, shape]);
    expect(Object.fromEntries(shapes)).toEqual(
      Object.fromEntries(decoderTensors(config).map(({ name, shape }) => [name, shape])),
    );
    expect(metadata).toEqual({ format: 'pt' });
  });

  it('gives a model of another family its own tensors', async () => {
    const qwen2 = { ...initialize, family: 'qwen2' as const, tiedHead: false };
    const { config, files, writeWeights } = await prepareModel({ seed: 1, model: { initialize: qwen2 } });
    expect(parseHuggingFaceConfig(files['config.json']!, 'config.json').decoder).toEqual(config);
    expect(config).toMatchObject({ family: 'qwen2', attentionBias: true, tiedHead: false });
    await writeWeights(join(root, 'qwen2'));
    const { tensors } = await readSafetensors(join(root, 'qwen2'));
    expect(tensors.get('model.layers.1.self_attn.k_proj.bias')!.data).toEqual(new Float32Array(16));
    expect(tensors.get('lm_head.weight')!.shape).toEqual([128, 16]);
  });

  it('writes bytes that depend on the seed alone', async () => {
    const hash = async (seed: number) =>
      (await (await prepareModel({ seed, model: { initialize } })).writeWeights(join(root, 'seeded'))).hash;
    // Of this repository's own making: a change means that recorded runs no longer begin with the same weights.
    expect(await hash(1)).toBe('sha256:f97650ce7e6b436f9d424c4997aa8201bfc79dcfe65f006e3c99c963f64167aa');
    expect(await hash(1)).toBe(await hash(1));
    expect(await hash(2)).not.toBe(await hash(1));
  });

  it('refuses sizes that do not fit together', async () => {
    const model = { initialize: { ...initialize, heads: 3, kvHeads: 2 } };
    await expect(prepareModel({ seed: 1, model })).rejects.toMatchObject({
      kind: 'RecipeError',
      message: 'model.initialize: 3 query heads are not a multiple of 2 key-value heads',
    });
  });
});

describe('prepareModel with model.path', () => {
  it('takes over a folder, without tensors that the decoder does not use, and says that the weights are float32 now', async () => {
    const folder = join(root, 'folder');
    await writeTinyModel(folder);
    const weightsPath = join(folder, 'model.safetensors');
    const original = await readFile(weightsPath);
    const { tensors } = await readSafetensors(weightsPath);
    const configPath = join(folder, 'config.json');
    const config = await readFile(configPath, 'utf8');
    await writeFile(configPath, config.replace('"float32"', '"bfloat16"'));
    tensors.set('lm_head.weight', tensors.get('model.embed_tokens.weight')!);
    await writeSafetensors(weightsPath, tensors);

    const prepared = await prepareModel({ seed: 1, model: { path: folder } });
    await prepared.writeWeights(join(root, 'copied'));
    expect(prepared.config).toEqual(tinyConfig);
    expect((await readFile(join(root, 'copied'))).equals(original)).toBe(true);
    expect(new TextDecoder().decode(prepared.files['config.json'])).toBe(config);
    expect(config).toContain('"torch_dtype": "float32"');
    for (const name of ['tokenizer.json', 'chat_template.jinja', 'generation_config.json']) {
      expect(Buffer.from(prepared.files[name]!).equals(await readFile(join(folder, name))), name).toBe(true);
    }
  });
});

it('refuses a recipe with several or none of initialize, path and hub', async () => {
  await expect(prepareModel({ seed: 1, model: {} })).rejects.toThrow('0 of initialize, path and hub');
  await expect(prepareModel({ seed: 1, model: { initialize, path: 'x' } })).rejects.toThrow(
    '2 of initialize, path and hub',
  );
});
