import { cp, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isCause } from '../../core/errors.ts';
import { tinyConfig, writeTinyModel } from '../../tests/fixtures/tiny-model.ts';
import { openModelFolder } from './model-folder.ts';
import { readSafetensors, writeSafetensors, type Tensors } from './safetensors.ts';

let root: string;
let folder: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'rekindle-folder-'));
  await writeTinyModel(join(root, 'whole'));
});
afterAll(() => rm(root, { recursive: true }));
beforeEach(async () => {
  folder = join(root, 'model');
  await rm(folder, { recursive: true, force: true });
  await cp(join(root, 'whole'), folder, { recursive: true });
});

async function refusal(): Promise<string> {
  const error: unknown = await openModelFolder(folder).then(
    () => 'opened',
    (thrown: unknown) => thrown,
  );
  expect(isCause(error, 'ModelError'), String(error)).toBe(true);
  return (error as Error).message;
}

async function editConfig(change: Record<string, unknown>): Promise<void> {
  const path = join(folder, 'config.json');
  const config = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
  await writeFile(path, JSON.stringify({ ...config, ...change }));
}

async function editTensors(edit: (tensors: Tensors) => void): Promise<void> {
  const path = join(folder, 'model.safetensors');
  const { tensors } = await readSafetensors(path);
  edit(tensors);
  await writeSafetensors(path, tensors);
}

describe('openModelFolder', () => {
  it('opens a whole folder', async () => {
    const model = await openModelFolder(folder);
    expect(model.config).toEqual(tinyConfig);
    expect(model.tokenizer.stopIds).toEqual([267]);
    expect(Object.keys(model.files).sort()).toEqual([
      'chat_template.jinja',
      'config.json',
      'generation_config.json',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
    expect(model.weightsPath).toBe(join(folder, 'model.safetensors'));
  });

  it.each(['config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.safetensors'])(
    'names the folder and %s when that file is missing',
    async (name) => {
      await rm(join(folder, name));
      expect(await refusal()).toContain(`${folder} has no ${name}`);
    },
  );

  it.each(['generation_config.json', 'chat_template.jinja'])('does without %s', async (name) => {
    await rm(join(folder, name));
    expect((await openModelFolder(folder)).tokenizer.stopIds).toEqual([267]);
  });

  it('refuses a path that does not exist or is a file', async () => {
    await rm(folder, { recursive: true });
    expect(await refusal()).toBe(`model folder ${folder} does not exist`);
    await writeFile(folder, '');
    expect(await refusal()).toBe(`model folder ${folder} is not a folder`);
  });

  it.each(['pytorch_model.bin', 'pytorch_model-00001-of-00002.bin', 'consolidated.00.pth', 'last.ckpt'])(
    'refuses pickled weights (%s) and says what to do',
    async (name) => {
      await rename(join(folder, 'model.safetensors'), join(folder, name));
      const error: unknown = await openModelFolder(folder).catch((thrown: unknown) => thrown);
      expect((error as Error).message).toContain(`${folder} has its weights in ${name}, a Python pickle`);
      expect((error as { hint: string }).hint).toContain('safetensors');
    },
  );

  it('names a tensor that is missing, unknown or of another shape', async () => {
    await editTensors((tensors) => tensors.delete('model.layers.1.mlp.up_proj.weight'));
    expect(await refusal()).toContain("no tensor 'model.layers.1.mlp.up_proj.weight'");
    await writeTinyModel(folder);
    await editTensors((tensors) =>
      tensors.set('model.layers.0.self_attn.q_proj.bias', { shape: [1], data: new Float32Array(1) }),
    );
    expect(await refusal()).toContain("tensor 'model.layers.0.self_attn.q_proj.bias' is not part of");
    await writeTinyModel(folder);
    await editConfig({ intermediate_size: 65 });
    expect(await refusal()).toContain('has shape [64, 32], config.json asks for [65, 32]');
  });

  it('accepts a copy of the tied head and a rotary table', async () => {
    await editTensors((tensors) => {
      tensors.set('lm_head.weight', tensors.get('model.embed_tokens.weight')!);
      tensors.set('model.layers.0.self_attn.rotary_emb.inv_freq', { shape: [4], data: new Float32Array(4) });
    });
    expect((await openModelFolder(folder)).config).toEqual(tinyConfig);
  });

  it('refuses a tokenizer with more tokens than the model', async () => {
    await editConfig({ vocab_size: 268 });
    expect(await refusal()).toContain('the tokenizer has 269 tokens, the model only 268 (vocab_size)');
  });

  it('names the file when config.json or the weights are damaged', async () => {
    await writeFile(join(folder, 'model.safetensors'), 'not weights at all');
    expect(await refusal()).toMatch(/model\.safetensors: header length/);
    await writeFile(join(folder, 'config.json'), '[]');
    expect(await refusal()).toMatch(/config\.json: content is \[\]/);
  });
});
