/**
 * config.json of a LlamaForCausalLM, to and from a DecoderConfig. An option that would change what the decoder computes and
 * that it does not implement is refused; options that only concern training or serving elsewhere are ignored.
 */
import { z } from 'zod';
import { RekindleError } from '../../core/errors.ts';
import { plainLlama, type DecoderConfig } from './decoder-config.ts';
import { decoderFault } from './decoder-fault.ts';
import { parseJsonFile, shown } from './model-files.ts';

const count = z.number().int().positive();
const tokenId = z.number().int().nonnegative();
/** One id, several, or none. */
export const tokenIdsSchema = z
  .union([tokenId, z.array(tokenId)])
  .nullish()
  .transform((ids) => (ids == null ? [] : Array.isArray(ids) ? ids : [ids]));

/** Rotary settings; transformers 4 calls the type `type` or `rope_type`. Absent defaults are those of transformers. */
const ropeSchema = z.looseObject({
  rope_type: z.string().optional(),
  type: z.string().optional(),
  rope_theta: z.number().positive().optional(),
  partial_rotary_factor: z.number().optional(),
});

const configSchema = z.looseObject({
  architectures: z.array(z.string()).nullish(),
  model_type: z.string(),
  vocab_size: count,
  hidden_size: count,
  intermediate_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  max_position_embeddings: count.default(2048),
  rms_norm_eps: z.number().positive().default(1e-6),
  rope_theta: z.number().positive().nullish(),
  /** Since transformers 5 in place of `rope_theta` and `rope_scaling`. */
  rope_parameters: ropeSchema.nullish(),
  rope_scaling: ropeSchema.nullish(),
  hidden_act: z.string().default('silu'),
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  tie_word_embeddings: z.boolean().default(false),
  quantization_config: z.unknown().optional(),
  bos_token_id: tokenId.nullish(),
  eos_token_id: tokenIdsSchema,
});
type RawConfig = z.infer<typeof configSchema>;

export interface HuggingFaceConfig {
  decoder: DecoderConfig;
  bosId: number | null;
  eosIds: number[];
}

function refuseUnsupported(raw: RawConfig, file: string): void {
  const requireOption = (option: string, value: unknown, supported: unknown): void => {
    if (value === supported) return;
    throw new RekindleError(
      'ModelError',
      `${file}: ${option} is ${shown(value)}, supported is ${shown(supported)}`,
      {
        hint: 'Only LlamaForCausalLM with tied embeddings, without biases, rotary scaling or quantization, can be trained.',
      },
    );
  };
  requireOption('model_type', raw.model_type, 'llama');
  requireOption('architectures', raw.architectures?.[0] ?? 'LlamaForCausalLM', 'LlamaForCausalLM');
  requireOption('tie_word_embeddings', raw.tie_word_embeddings, true);
  requireOption('hidden_act', raw.hidden_act, 'silu');
  requireOption('attention_bias', raw.attention_bias, false);
  requireOption('mlp_bias', raw.mlp_bias, false);
  requireOption('quantization_config', raw.quantization_config ?? null, null);
  for (const option of ['rope_scaling', 'rope_parameters'] as const) {
    const rope = raw[option];
    requireOption(`${option}.rope_type`, rope?.rope_type ?? rope?.type ?? 'default', 'default');
    requireOption(`${option}.partial_rotary_factor`, rope?.partial_rotary_factor ?? 1, 1);
  }
}

/**
 * Reads config.json.
 * @param file how errors name it
 * @throws RekindleError ModelError that names the option and its value.
 */
export function parseHuggingFaceConfig(bytes: Uint8Array, file: string): HuggingFaceConfig {
  const raw = parseJsonFile(bytes, file, configSchema);
  refuseUnsupported(raw, file);
  const decoder: DecoderConfig = {
    ...plainLlama,
    vocabSize: raw.vocab_size,
    hiddenSize: raw.hidden_size,
    layers: raw.num_hidden_layers,
    heads: raw.num_attention_heads,
    kvHeads: raw.num_key_value_heads ?? raw.num_attention_heads,
    headSize: raw.head_dim ?? Math.floor(raw.hidden_size / raw.num_attention_heads),
    feedForwardSize: raw.intermediate_size,
    ropeTheta: raw.rope_parameters?.rope_theta ?? raw.rope_theta ?? 10_000,
    normEpsilon: raw.rms_norm_eps,
    maxPositions: raw.max_position_embeddings,
  };
  const fault = decoderFault(decoder);
  if (fault) throw new RekindleError('ModelError', `${file}: ${fault}`);
  return { decoder, bosId: raw.bos_token_id ?? null, eosIds: raw.eos_token_id };
}

/** The content of config.json for float32 weights, in the form that both transformers 4 and 5 read. */
export function toHuggingFaceConfig({ decoder, bosId, eosIds }: HuggingFaceConfig): Record<string, unknown> {
  return {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    vocab_size: decoder.vocabSize,
    hidden_size: decoder.hiddenSize,
    intermediate_size: decoder.feedForwardSize,
    num_hidden_layers: decoder.layers,
    num_attention_heads: decoder.heads,
    num_key_value_heads: decoder.kvHeads,
    head_dim: decoder.headSize,
    max_position_embeddings: decoder.maxPositions,
    rms_norm_eps: decoder.normEpsilon,
    rope_theta: decoder.ropeTheta,
    hidden_act: 'silu',
    attention_bias: false,
    mlp_bias: false,
    tie_word_embeddings: true,
    bos_token_id: bosId,
    eos_token_id: eosIds.length > 1 ? eosIds : (eosIds[0] ?? null),
    torch_dtype: 'float32',
  };
}
