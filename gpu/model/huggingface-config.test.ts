import { describe, expect, it } from 'vitest';
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
    });
    expect(parse(minimal)).toMatchObject({ bosId: null, eosIds: [] });
  });

  it('is undone by toHuggingFaceConfig', () => {
    for (const config of [
      { decoder, bosId: 1, eosIds: [2, 7] },
      { decoder, bosId: null, eosIds: [] },
    ]) {
      expect(parse(toHuggingFaceConfig(config))).toEqual(config);
    }
  });

  it.each([
    ['an untied head', { tie_word_embeddings: false }, 'tie_word_embeddings is false, supported is true'],
    ['a head untied by default', { tie_word_embeddings: undefined }, 'tie_word_embeddings is false'],
    ['another model type', { model_type: 'qwen3' }, 'model_type is "qwen3", supported is "llama"'],
    ['another head', { architectures: ['LlamaForTokenClassification'] }, 'architectures is "LlamaForTokenCl'],
    ['another activation', { hidden_act: 'gelu' }, 'hidden_act is "gelu", supported is "silu"'],
    ['attention biases', { attention_bias: true }, 'attention_bias is true, supported is false'],
    ['feed-forward biases', { mlp_bias: true }, 'mlp_bias is true'],
    [
      'rotary scaling',
      { rope_scaling: { rope_type: 'llama3', factor: 8 } },
      'rope_scaling.rope_type is "llama3"',
    ],
    [
      'old rotary scaling',
      { rope_scaling: { type: 'linear', factor: 2 } },
      'rope_scaling.rope_type is "linear"',
    ],
    [
      'rotary scaling of version 5',
      { rope_parameters: { rope_type: 'yarn' } },
      'rope_parameters.rope_type is "yarn"',
    ],
    ['a partial rotary', { rope_parameters: { partial_rotary_factor: 0.5 } }, 'partial_rotary_factor is 0.5'],
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

  it('refuses a file that is not JSON', () => {
    expect(() => parseHuggingFaceConfig(Buffer.from('{"model_type":'), 'some/config.json')).toThrow(
      'some/config.json is not JSON',
    );
  });
});
