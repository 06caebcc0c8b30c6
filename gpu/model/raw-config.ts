/** config.json as it is written. Defaults here are those that transformers has for every family. */
import { z } from 'zod';

const count = z.number().int().positive();
const tokenId = z.number().int().nonnegative();

/** One id, several, or none. */
export const tokenIdsSchema = z
  .union([tokenId, z.array(tokenId)])
  .nullish()
  .transform((ids) => (ids == null ? [] : Array.isArray(ids) ? ids : [ids]));

const ropeSchema = z.record(z.string(), z.unknown());

export const rawConfigSchema = z.looseObject({
  architectures: z.array(z.string()).nullish(),
  vocab_size: count,
  hidden_size: count,
  intermediate_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  max_position_embeddings: count,
  rms_norm_eps: z.number().positive().default(1e-6),
  rope_theta: z.number().positive().nullish(),
  rope_scaling: ropeSchema.nullish(),
  /** Since transformers 5 in place of `rope_theta` and `rope_scaling`. */
  rope_parameters: ropeSchema.nullish(),
  partial_rotary_factor: z.number().nullish(),
  hidden_act: z.string().default('silu'),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  sliding_window: count.nullable().default(null),
  use_sliding_window: z.boolean().default(false),
  max_window_layers: z.number().int().nonnegative().default(0),
  layer_types: z.array(z.string()).nullish(),
  tie_word_embeddings: z.boolean().default(false),
  quantization_config: z.unknown().optional(),
  bos_token_id: tokenId.nullish(),
  eos_token_id: tokenIdsSchema,
});
export type RawConfig = z.infer<typeof rawConfigSchema>;
