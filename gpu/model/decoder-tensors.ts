/** Names and shapes of a decoder's weights, as Hugging Face stores them (matrices are [out, in]). */
import type { DecoderConfig } from './decoder-config.ts';

export interface DecoderTensor {
  name: string;
  shape: number[];
  /** A residual output is a matrix whose result is added to the residual stream. */
  role: 'embedding' | 'norm' | 'bias' | 'matrix' | 'residual-output';
}

/** All tensors, in the order in which the model applies them; the order is part of how weights are initialised. */
export function decoderTensors(config: DecoderConfig): DecoderTensor[] {
  const { vocabSize, hiddenSize, feedForwardSize, headSize } = config;
  const querySize = config.heads * headSize;
  const kvSize = config.kvHeads * headSize;

  const layer = (index: number): DecoderTensor[] => {
    const named = (name: string, shape: number[], role: DecoderTensor['role']): DecoderTensor => ({
      name: `model.layers.${index}.${name}`,
      shape,
      role,
    });
    const projection = (name: string, outputs: number): DecoderTensor[] => [
      named(`self_attn.${name}.weight`, [outputs, hiddenSize], 'matrix'),
      ...(config.attentionBias ? [named(`self_attn.${name}.bias`, [outputs], 'bias')] : []),
    ];
    const headNorm = (name: string): DecoderTensor[] =>
      config.queryKeyNorm ? [named(`self_attn.${name}.weight`, [headSize], 'norm')] : [];
    return [
      named('input_layernorm.weight', [hiddenSize], 'norm'),
      ...projection('q_proj', querySize),
      ...projection('k_proj', kvSize),
      ...projection('v_proj', kvSize),
      ...headNorm('q_norm'),
      ...headNorm('k_norm'),
      named('self_attn.o_proj.weight', [hiddenSize, querySize], 'residual-output'),
      named('post_attention_layernorm.weight', [hiddenSize], 'norm'),
      named('mlp.gate_proj.weight', [feedForwardSize, hiddenSize], 'matrix'),
      named('mlp.up_proj.weight', [feedForwardSize, hiddenSize], 'matrix'),
      named('mlp.down_proj.weight', [hiddenSize, feedForwardSize], 'residual-output'),
    ];
  };

  const head: DecoderTensor = { name: 'lm_head.weight', shape: [vocabSize, hiddenSize], role: 'matrix' };
  return [
    { name: 'model.embed_tokens.weight', shape: [vocabSize, hiddenSize], role: 'embedding' },
    ...Array.from({ length: config.layers }, (_, index) => layer(index)).flat(),
    { name: 'model.norm.weight', shape: [hiddenSize], role: 'norm' },
    ...(config.tiedHead ? [] : [head]),
  ];
}
