/** Names and shapes of the weights of a LlamaForCausalLM with a tied head, as Hugging Face stores them ([out, in] matrices). */
import type { DecoderConfig } from './decoder-config.ts';

export interface LlamaTensor {
  name: string;
  shape: number[];
  /** A residual output is a matrix whose result is added to the residual stream. */
  role: 'embedding' | 'norm' | 'matrix' | 'residual-output';
}

/** All tensors, in the order in which the model applies them; the order is part of how weights are initialised. */
export function llamaTensors(config: DecoderConfig): LlamaTensor[] {
  const { vocabSize, hiddenSize, feedForwardSize, headSize } = config;
  const querySize = config.heads * headSize;
  const kvSize = config.kvHeads * headSize;
  const layer = (index: number): LlamaTensor[] => {
    const prefix = `model.layers.${index}`;
    return [
      { name: `${prefix}.input_layernorm.weight`, shape: [hiddenSize], role: 'norm' },
      { name: `${prefix}.self_attn.q_proj.weight`, shape: [querySize, hiddenSize], role: 'matrix' },
      { name: `${prefix}.self_attn.k_proj.weight`, shape: [kvSize, hiddenSize], role: 'matrix' },
      { name: `${prefix}.self_attn.v_proj.weight`, shape: [kvSize, hiddenSize], role: 'matrix' },
      { name: `${prefix}.self_attn.o_proj.weight`, shape: [hiddenSize, querySize], role: 'residual-output' },
      { name: `${prefix}.post_attention_layernorm.weight`, shape: [hiddenSize], role: 'norm' },
      { name: `${prefix}.mlp.gate_proj.weight`, shape: [feedForwardSize, hiddenSize], role: 'matrix' },
      { name: `${prefix}.mlp.up_proj.weight`, shape: [feedForwardSize, hiddenSize], role: 'matrix' },
      {
        name: `${prefix}.mlp.down_proj.weight`,
        shape: [hiddenSize, feedForwardSize],
        role: 'residual-output',
      },
    ];
  };
  return [
    { name: 'model.embed_tokens.weight', shape: [vocabSize, hiddenSize], role: 'embedding' },
    ...Array.from({ length: config.layers }, (_, index) => layer(index)).flat(),
    { name: 'model.norm.weight', shape: [hiddenSize], role: 'norm' },
  ];
}
