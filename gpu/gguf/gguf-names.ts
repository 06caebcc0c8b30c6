/** Names of tensors in GGUF files, as Hugging Face names. */
const ofModel: Readonly<Record<string, string>> = {
  'token_embd.weight': 'model.embed_tokens.weight',
  'output_norm.weight': 'model.norm.weight',
  'output.weight': 'lm_head.weight',
};
const ofLayer: Readonly<Record<string, string>> = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_q_norm: 'self_attn.q_norm',
  attn_k_norm: 'self_attn.k_norm',
  attn_output: 'self_attn.o_proj',
  ffn_norm: 'post_attention_layernorm',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
};

/** Factors of the rotary frequencies: no weights, but a way to write down Llama 3's scaling. */
export const ropeFactorsName = 'rope_freqs.weight';

/** The Hugging Face name; undefined for a tensor that has none. */
export function huggingFaceName(name: string): string | undefined {
  if (Object.hasOwn(ofModel, name)) return ofModel[name];
  const [, layer, part, kind] = /^blk\.(\d+)\.(\w+)\.(weight|bias)$/.exec(name) ?? [];
  if (part === undefined || !Object.hasOwn(ofLayer, part)) return undefined;
  return `model.layers.${layer}.${ofLayer[part]}.${kind}`;
}
