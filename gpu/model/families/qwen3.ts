/** Qwen3: each query and key head is normalized; no biases (Yang et al., "Qwen3 Technical Report", 2025). */
import type { Family } from './family.ts';
import { qwenWindow, qwenWindowDefaults, qwenWindowKeys } from './qwen-window.ts';

export const qwen3: Family = {
  architecture: 'Qwen3ForCausalLM',
  defaults: {
    max_position_embeddings: 32_768,
    num_key_value_heads: 32,
    head_dim: 128,
    ...qwenWindowDefaults,
  },
  attentionBias: false,
  queryKeyNorm: true,
  attentionWindow: qwenWindow,
  ownKeys: (config) => ({ attention_bias: false, ...qwenWindowKeys(config) }),
};
