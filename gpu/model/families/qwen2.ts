/** Qwen2 and Qwen2.5: biases on queries, keys and values (Yang et al., "Qwen2 Technical Report", 2024). */
import type { Family } from './family.ts';
import { qwenWindow, qwenWindowDefaults, qwenWindowKeys } from './qwen-window.ts';

export const qwen2: Family = {
  architecture: 'Qwen2ForCausalLM',
  defaults: { max_position_embeddings: 32_768, num_key_value_heads: 32, ...qwenWindowDefaults },
  attentionBias: true,
  queryKeyNorm: false,
  attentionWindow: qwenWindow,
  ownKeys: qwenWindowKeys,
};
