/**
 * config.json, to and from a DecoderConfig. An option that would change what the decoder computes and that it does not
 * implement is refused; options that only concern training or serving elsewhere are ignored.
 */
import { z } from 'zod';
import { RekindleError } from '../../core/errors.ts';
import type { DecoderConfig, DecoderFamily } from './decoder-config.ts';
import { decoderFault } from './decoder-fault.ts';
import type { Refuse } from './families/family.ts';
import { families } from './families/index.ts';
import { parseJsonFile, shown } from './model-files.ts';
import { rawConfigSchema, type RawConfig } from './raw-config.ts';
import { readRope, ropeKeys } from './rope-config.ts';

export interface HuggingFaceConfig {
  decoder: DecoderConfig;
  bosId: number | null;
  eosIds: number[];
}

function refusing(file: string): Refuse {
  return (option, value, supported) => {
    throw new RekindleError(
      'ModelError',
      `${file}: ${option} is ${shown(value)}, supported is ${supported}`,
      {
        hint: 'Llama, Mistral, Qwen2 and Qwen3 models can be trained, with the options that docs/engine.md lists.',
      },
    );
  };
}

function familyOf(bytes: Uint8Array, file: string, refuse: Refuse): DecoderFamily {
  const { model_type } = parseJsonFile(bytes, file, z.looseObject({ model_type: z.string() }));
  if (Object.hasOwn(families, model_type)) return model_type as DecoderFamily;
  return refuse('model_type', model_type, Object.keys(families).map(shown).join(', '));
}

function refuseUnsupported(raw: RawConfig, family: DecoderFamily, refuse: Refuse): void {
  const { architecture, attentionBias } = families[family];
  const requireOption = (option: keyof RawConfig, supported: unknown): void => {
    const value = raw[option] ?? supported;
    if (value !== supported) refuse(option, value, shown(supported));
  };
  if ((raw.architectures?.[0] ?? architecture) !== architecture) {
    refuse('architectures', raw.architectures, `["${architecture}"] for model_type "${family}"`);
  }
  requireOption('hidden_act', 'silu');
  requireOption('attention_bias', attentionBias);
  requireOption('mlp_bias', false);
  requireOption('quantization_config', null);
}

/** All layers must attend in the same way. */
function refuseMixedLayers({ layer_types }: RawConfig, attentionWindow: number | null, refuse: Refuse): void {
  const expected = attentionWindow === null ? 'full_attention' : 'sliding_attention';
  const other = layer_types?.find((type) => type !== expected);
  if (other !== undefined) refuse('layer_types', layer_types, `${shown(expected)} in every layer`);
}

/**
 * Reads config.json.
 * @param file how errors name it
 * @throws RekindleError ModelError that names the option and its value.
 */
export function parseHuggingFaceConfig(bytes: Uint8Array, file: string): HuggingFaceConfig {
  const refuse = refusing(file);
  const family = familyOf(bytes, file, refuse);
  const { defaults, attentionBias, queryKeyNorm, attentionWindow } = families[family];
  const withDefaults = z.preprocess((raw) => ({ ...defaults, ...(raw as object) }), rawConfigSchema);
  const raw = parseJsonFile(bytes, file, withDefaults);
  refuseUnsupported(raw, family, refuse);
  const decoder: DecoderConfig = {
    family,
    vocabSize: raw.vocab_size,
    hiddenSize: raw.hidden_size,
    layers: raw.num_hidden_layers,
    heads: raw.num_attention_heads,
    kvHeads: raw.num_key_value_heads ?? raw.num_attention_heads,
    headSize: raw.head_dim ?? Math.floor(raw.hidden_size / raw.num_attention_heads),
    feedForwardSize: raw.intermediate_size,
    ...readRope(raw, refuse),
    normEpsilon: raw.rms_norm_eps,
    maxPositions: raw.max_position_embeddings,
    tiedHead: raw.tie_word_embeddings,
    attentionBias,
    queryKeyNorm,
    attentionWindow: attentionWindow(raw, refuse),
  };
  refuseMixedLayers(raw, decoder.attentionWindow, refuse);
  const fault = decoderFault(decoder);
  if (fault) throw new RekindleError('ModelError', `${file}: ${fault}`);
  return { decoder, bosId: raw.bos_token_id ?? null, eosIds: raw.eos_token_id };
}

/** The content of config.json for float32 weights, in the form that both transformers 4 and 5 read. */
export function toHuggingFaceConfig({ decoder, bosId, eosIds }: HuggingFaceConfig): Record<string, unknown> {
  const { architecture, ownKeys } = families[decoder.family];
  return {
    architectures: [architecture],
    model_type: decoder.family,
    vocab_size: decoder.vocabSize,
    hidden_size: decoder.hiddenSize,
    intermediate_size: decoder.feedForwardSize,
    num_hidden_layers: decoder.layers,
    num_attention_heads: decoder.heads,
    num_key_value_heads: decoder.kvHeads,
    head_dim: decoder.headSize,
    max_position_embeddings: decoder.maxPositions,
    rms_norm_eps: decoder.normEpsilon,
    ...ropeKeys(decoder),
    hidden_act: 'silu',
    ...ownKeys(decoder),
    tie_word_embeddings: decoder.tiedHead,
    bos_token_id: bosId,
    eos_token_id: eosIds.length > 1 ? eosIds : (eosIds[0] ?? null),
    torch_dtype: 'float32',
  };
}
