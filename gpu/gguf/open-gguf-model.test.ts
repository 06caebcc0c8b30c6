import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ggufBytes, type Written } from '../../tests/fixtures/gguf-writer.ts';
import { tinyGgufMetadata, tinyGgufTensors, writeTinyGguf } from '../../tests/fixtures/tiny-gguf.ts';
import { tinyConfig } from '../../tests/fixtures/tiny-model.ts';
import { byteLevelTokenizerFiles } from '../../tests/fixtures/byte-level-tokenizer.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { initialWeights } from '../model/initialize.ts';
import { loadTokenizer } from '../tokenizer/index.ts';
import { openGgufModel } from './open-gguf-model.ts';

let path: string;
beforeEach(() => {
  path = join(scratchFolder(), 'model.gguf');
});

const families: [string, Partial<DecoderConfig>][] = [
  ['llama', {}],
  ['llama with a head of its own', { tiedHead: false }],
  ['qwen2', { family: 'qwen2', attentionBias: true }],
  ['qwen3', { family: 'qwen3', queryKeyNorm: true, headSize: 32 }],
];

describe('openGgufModel', () => {
  it.each(families)(
    'reads a %s: its config, and its weights under Hugging Face names and in their order',
    async (_, change) => {
      const config = { ...tinyConfig, ...change };
      await writeTinyGguf(path, config);
      const model = await openGgufModel(path);
      expect(model.config).toEqual(config);
      const weights = await model.openWeights();
      try {
        for (const { name, shape, data } of initialWeights(config, { seed: 1, embeddingStd: 0.1 })) {
          const expected = await data();
          const values = new Float32Array(expected.length);
          await weights.readInto(name, values);
          expect(weights.tensors.get(name)!.shape).toEqual(shape);
          expect(values, name).toEqual(expected);
        }
      } finally {
        await weights.close();
      }
    },
  );

  it('makes a tokenizer with the same ids, special tokens, stop tokens and chat template', async () => {
    await writeTinyGguf(path);
    const { tokenizer } = await openGgufModel(path);
    const original = loadTokenizer(byteLevelTokenizerFiles());
    const messages = [{ role: 'user', content: 'the thing in the other 12<|end|>' }] as const;
    const text = original.applyChatTemplate(messages, { addGenerationPrompt: true });
    expect(tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true })).toBe(text);
    expect(tokenizer.encode(text)).toEqual(original.encode(text));
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(original.decode(original.encode(text)));
    expect(tokenizer.stopIds).toEqual(original.stopIds);
  });

  it.each([
    ['llama', {}, { family: 'mistral', attentionWindow: 32 }],
    ['qwen2', { family: 'qwen2', attentionBias: true }, { attentionWindow: 32 }],
  ] as [string, Partial<DecoderConfig>, Partial<DecoderConfig>][])(
    'keeps the sliding window of a %s',
    async (architecture, change, expected) => {
      const config = { ...tinyConfig, ...change };
      const window = { [`${architecture}.attention.sliding_window`]: { u32: 32 } };
      const metadata = { ...tinyGgufMetadata(config), ...window };
      await writeFile(path, ggufBytes(metadata, await tinyGgufTensors(config)));
      expect((await openGgufModel(path)).config).toEqual({ ...config, ...expected });
    },
  );

  it("finds Llama 3's scaling in the factors of its frequencies, and refuses others", async () => {
    // Factors of a head of 16, theta 500000 and scaling by 8, from transformers 5.24.0 (_compute_llama3_parameters).
    const factors = [1, 1, 1, 1, 2.69453, 8, 8, 8];
    const config = { ...tinyConfig, ropeTheta: 500_000 };
    const write = async (values: number[]): Promise<void> => {
      const bytes = Buffer.from(Float32Array.from(values).buffer);
      const tensors = [
        ...(await tinyGgufTensors(config)),
        { name: 'rope_freqs.weight', shape: [8], type: 0, bytes },
      ];
      await writeFile(path, ggufBytes(tinyGgufMetadata(config), tensors));
    };
    await write(factors);
    expect((await openGgufModel(path)).config.ropeScaling).toEqual({
      kind: 'llama3',
      factor: 8,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalMaxPositions: 8192,
    });
    await write([1, 1, 1, 2, 2, 8, 8, 8]);
    await expect(openGgufModel(path)).rejects.toThrow('rope_freqs.weight');
  });

  const broken: [string, Record<string, Written>, string][] = [
    [
      'an architecture',
      { 'general.architecture': { text: 'mamba' } },
      'general.architecture is "mamba", supported are llama, qwen2',
    ],
    ['a kind of tokenizer', { 'tokenizer.ggml.model': { text: 'bert' } }, 'tokenizer.ggml.model is "bert"'],
    ['a pre-tokenizer', { 'tokenizer.ggml.pre': { text: 'mystery' } }, 'tokenizer.ggml.pre is "mystery"'],
    ['a scaling', { 'llama.rope.scaling.type': { text: 'yarn' } }, 'llama.rope.scaling.type is "yarn"'],
    [
      'half-rotated heads',
      { 'llama.rope.dimension_count': { u32: 8 } },
      'rope.dimension_count is 8, expected',
    ],
    ['experts', { 'llama.expert_count': { u32: 8 } }, 'mixtures of experts'],
    [
      'metadata of another type',
      { 'llama.block_count': { text: '2' } },
      'llama.block_count is "2", expected a number',
    ],
    [
      'layers that are not there',
      { 'llama.block_count': { u32: 3 } },
      "no tensor 'model.layers.2.input_layernorm.weight'",
    ],
    ['a token that is not there', { 'tokenizer.ggml.eos_token_id': { u32: 9999 } }, 'eos_token_id is 9999'],
    [
      'more tokens than embedding rows',
      { 'tokenizer.ggml.tokens': { texts: Array.from({ length: 273 }, (_, i) => `t${i}`) } },
      '',
    ],
  ];
  it.each(broken)('refuses %s by name', async (_, change, message) => {
    await writeFile(path, ggufBytes({ ...tinyGgufMetadata(), ...change }, await tinyGgufTensors(tinyConfig)));
    const refusal: unknown = await openGgufModel(path).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ kind: 'ModelError' });
    expect((refusal as Error).message).toContain(message);
  });
});
