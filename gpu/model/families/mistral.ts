/** Llama with a sliding window in every layer (Jiang et al., "Mistral 7B", 2023). */
import type { Family } from './family.ts';

export const mistral: Family = {
  architecture: 'MistralForCausalLM',
  defaults: { max_position_embeddings: 131_072, num_key_value_heads: 8, sliding_window: 4096 },
  attentionBias: false,
  queryKeyNorm: false,
  attentionWindow: ({ sliding_window }) => sliding_window,
  ownKeys: ({ attentionWindow }) => ({ sliding_window: attentionWindow }),
};
