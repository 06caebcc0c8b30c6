import { describe, expect, it } from 'vitest';
import { tinyFamilies } from '../../tests/fixtures/tiny-families.ts';
import { isCause } from '../../core/errors.ts';
import { plainLlama, type DecoderConfig } from './decoder-config.ts';
import { parseHuggingFaceConfig, toHuggingFaceConfig } from './huggingface-config.ts';
import { jsonFile } from './model-files.ts';

const decoder: DecoderConfig = {
  ...plainLlama,
  vocabSize: 49152,
  hiddenSize: 576,
  layers: 30,
  heads: 9,
  kvHeads: 3,
  headSize: 64,
  feedForwardSize: 1536,
  ropeTheta: 100_000,
  normEpsilon: 1e-5,
  maxPositions: 8192,
};

/** config.json of HuggingFaceTB/SmolLM2-135M-Instruct as transformers 4 wrote it, less keys that only concern serving. */
const smolLm2 = {
  architectures: ['LlamaForCausalLM'],
  attention_bias: false,
  attention_dropout: 0.0,
  bos_token_id: 1,
  eos_token_id: 2,
  hidden_act: 'silu',
  hidden_size: 576,
  initializer_range: 0.041666666666666664,
  intermediate_size: 1536,
  max_position_embeddings: 8192,
  mlp_bias: false,
  model_type: 'llama',
  num_attention_heads: 9,
  num_hidden_layers: 30,
  num_key_value_heads: 3,
  pretraining_tp: 1,
  rms_norm_eps: 1e-5,
  rope_interleaved: false,
  rope_scaling: null,
  rope_theta: 100000,
  tie_word_embeddings: true,
  torch_dtype: 'bfloat16',
  use_cache: true,
  vocab_size: 49152,
};

const llama3Scaling = {
  factor: 32.0,
  high_freq_factor: 4.0,
  low_freq_factor: 1.0,
  original_max_position_embeddings: 8192,
  rope_type: 'llama3',
};

const mistral = { model_type: 'mistral', architectures: ['MistralForCausalLM'] };
const qwen2 = {
  model_type: 'qwen2',
  architectures: ['Qwen2ForCausalLM'],
  attention_bias: undefined,
  max_window_layers: 21,
  sliding_window: 32768,
  use_sliding_window: false,
};
const qwen3 = { ...qwen2, model_type: 'qwen3', architectures: ['Qwen3ForCausalLM'] };

const parse = (raw: unknown) => parseHuggingFaceConfig(jsonFile(raw), 'config.json');

describe('parseHuggingFaceConfig', () => {
  it('reads a config of transformers 4', () => {
    expect(parse(smolLm2)).toEqual({ decoder, bosId: 1, eosIds: [2] });
  });

  it('reads a config of transformers 5, whose rotary base is in rope_parameters', () => {
    const { rope_theta, rope_scaling, ...rest } = smolLm2;
    expect(rope_scaling).toBeNull();
    const raw = { ...rest, rope_parameters: { rope_theta, rope_type: 'default' }, eos_token_id: [2, 5] };
    expect(parse(raw)).toEqual({ decoder, bosId: 1, eosIds: [2, 5] });
  });

  it('gives absent options the defaults of transformers', () => {
    const minimal = {
      model_type: 'llama',
      vocab_size: 8,
      hidden_size: 48,
      intermediate_size: 20,
      num_hidden_layers: 1,
      num_attention_heads: 3,
      tie_word_embeddings: true,
    };
    expect(parse(minimal).decoder).toMatchObject({
      kvHeads: 3,
      headSize: 16,
      ropeTheta: 10_000,
      normEpsilon: 1e-6,
      maxPositions: 2048,
      tiedHead: true,
    });
    expect(parse({ ...minimal, tie_word_embeddings: undefined }).decoder.tiedHead).toBe(false);
    expect(parse(minimal)).toMatchObject({ bosId: null, eosIds: [] });
  });

  it.each(Object.entries({ ...tinyFamilies, 'the head tied': decoder }))(
    'is undone by toHuggingFaceConfig: %s',
    (_, config) => {
      for (const rest of [
        { bosId: 1, eosIds: [2, 7] },
        { bosId: null, eosIds: [] },
      ]) {
        expect(parse(toHuggingFaceConfig({ decoder: config, ...rest }))).toEqual({
          decoder: config,
          ...rest,
        });
      }
    },
  );

  it.each([
    [
      'another model type',
      { model_type: 'gemma3' },
      'model_type is "gemma3", supported is "llama", "mistral", ',
    ],
    ['a missing model type', { model_type: undefined }, 'model_type is missing'],
    [
      'another head',
      { architectures: ['LlamaForTokenClassification'] },
      'architectures is ["LlamaForTokenCl',
    ],
    ['another activation', { hidden_act: 'gelu' }, 'hidden_act is "gelu", supported is "silu"'],
    ['attention biases', { attention_bias: true }, 'attention_bias is true, supported is false'],
    ['feed-forward biases', { mlp_bias: true }, 'mlp_bias is true'],
    [
      'layers that slide',
      { layer_types: ['sliding_attention'] },
      'layer_types is ["sliding_attention"], supp',
    ],
    [
      'yarn scaling',
      { rope_scaling: { type: 'yarn', factor: 2 } },
      'rope_scaling.rope_type is "yarn", supported is "default", "linear", "llama3"',
    ],
    [
      'dynamic scaling in the form of version 5',
      { rope_scaling: undefined, rope_parameters: { rope_type: 'dynamic' } },
      'rope_parameters.rope_type is "dynamic"',
    ],
    ['scaling without its factor', { rope_scaling: { type: 'linear' } }, 'rope_scaling.factor is missing'],
    [
      'scaling with an unknown number',
      { rope_scaling: { type: 'linear', factor: 2, mscale: 1 } },
      'rope_scaling.mscale is 1',
    ],
    [
      'scaling that differs between layers',
      { rope_parameters: { full_attention: { rope_theta: 5 } } },
      'rope_parameters.full_attention is {"rope_theta":5}',
    ],
    [
      'scaling whose bounds cross',
      { rope_scaling: { ...llama3Scaling, high_freq_factor: 1 } },
      'rope_scaling.high_freq_factor is 1, supported is more than low_freq_factor, 1',
    ],
    ['a partial rotary', { rope_parameters: { partial_rotary_factor: 0.5 } }, 'partial_rotary_factor is 0.5'],
    [
      'a partial rotary on top',
      { partial_rotary_factor: 0.25 },
      'partial_rotary_factor is 0.25, supported is 1',
    ],
    ['quantized weights', { quantization_config: { bits: 4 } }, 'quantization_config is {"bits":4}'],
    ['heads that do not divide', { num_key_value_heads: 4 }, '9 query heads are not a multiple of 4'],
    ['a head size that the engine cannot take', { head_dim: 8 }, 'head size 8 is not a multiple of 16'],
    ['a size of the wrong type', { hidden_size: '576' }, 'config.json: hidden_size is "576"'],
    ['a missing size', { vocab_size: undefined }, 'config.json: vocab_size is missing'],
  ])('refuses %s, naming the option and its value', (_, change, message) => {
    let thrown: unknown;
    try {
      parse({ ...smolLm2, ...change });
    } catch (error) {
      thrown = error;
    }
    expect(isCause(thrown, 'ModelError')).toBe(true);
    expect((thrown as Error).message).toContain(message);
  });

  it.each([
    // From meta-llama/Llama-3.2-1B, as transformers 4 wrote it.
    [
      'rope scaling of Llama 3',
      { rope_theta: 500_000.0, rope_scaling: llama3Scaling },
      {
        ropeTheta: 500_000,
        ropeScaling: {
          kind: 'llama3',
          factor: 32,
          lowFrequencyFactor: 1,
          highFrequencyFactor: 4,
          originalMaxPositions: 8192,
        },
      },
    ],
    [
      'the same from transformers 5',
      { rope_theta: undefined, rope_parameters: { ...llama3Scaling, rope_theta: 500_000.0 } },
      { ropeTheta: 500_000, ropeScaling: { kind: 'llama3', factor: 32 } },
    ],
    [
      'linear scaling under its old name',
      { rope_scaling: { type: 'linear', factor: 2.0 } },
      { ropeTheta: 100_000, ropeScaling: { kind: 'linear', factor: 2 } },
    ],
    // From mistralai/Mistral-7B-v0.1 and v0.3.
    ['a sliding window', { ...mistral, sliding_window: 4096 }, { family: 'mistral', attentionWindow: 4096 }],
    ['no sliding window', { ...mistral, sliding_window: null }, { attentionWindow: null }],
    ["Mistral's default window", mistral, { attentionWindow: 4096, kvHeads: 3 }],
    // From Qwen/Qwen2.5-0.5B.
    ['a window not in use', qwen2, { family: 'qwen2', attentionBias: true, attentionWindow: null }],
    [
      'a window in use from the layer after the last',
      { ...qwen2, use_sliding_window: true, max_window_layers: 30 },
      { attentionWindow: null },
    ],
    [
      'a window in use from the first layer',
      { ...qwen2, use_sliding_window: true, max_window_layers: 0 },
      { attentionWindow: 32768 },
    ],
    [
      'a window in use in each layer, as transformers 5 writes it',
      { ...qwen2, use_sliding_window: true, layer_types: new Array(30).fill('sliding_attention') },
      { attentionWindow: 32768 },
    ],
    // From Qwen/Qwen3-0.6B, which has a head size of its own.
    ['norms of heads', qwen3, { family: 'qwen3', queryKeyNorm: true, attentionBias: false, headSize: 128 }],
  ])('reads %s', (_, change, expected) => {
    expect(parse({ ...smolLm2, ...change }).decoder).toMatchObject(expected);
  });

  it.each([
    [
      'a window in some layers only',
      { ...qwen2, use_sliding_window: true },
      'max_window_layers is 21, supported is 0 or at least 30',
    ],
    [
      'layers of different types',
      { ...qwen2, use_sliding_window: true, layer_types: ['sliding_attention', 'full_attention'] },
      'layer_types is ["sliding_attention","full_attention"], supported is "sliding_attention" in every layer',
    ],
    [
      'biases that Qwen3 would have on its output too',
      { ...qwen3, attention_bias: true },
      'attention_bias is true',
    ],
    [
      'Qwen2 without biases',
      { ...qwen2, attention_bias: false },
      'attention_bias is false, supported is true',
    ],
    [
      'a class of another family',
      { ...qwen2, architectures: ['LlamaForCausalLM'] },
      'supported is ["Qwen2ForC',
    ],
  ])('refuses %s', (_, change, message) => {
    expect(() => parse({ ...smolLm2, ...change })).toThrow(message);
  });

  it('refuses a file that is not JSON', () => {
    expect(() => parseHuggingFaceConfig(Buffer.from('{"model_type":'), 'some/config.json')).toThrow(
      'some/config.json is not JSON',
    );
  });
});
