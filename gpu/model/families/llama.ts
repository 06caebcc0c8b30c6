/** Llama 2, Llama 3, SmolLM2 and others (Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023). */
import type { Family } from './family.ts';

export const llama: Family = {
  architecture: 'LlamaForCausalLM',
  defaults: { max_position_embeddings: 2048 },
  attentionBias: false,
  queryKeyNorm: false,
  attentionWindow: () => null,
  ownKeys: () => ({ attention_bias: false, mlp_bias: false }),
};
