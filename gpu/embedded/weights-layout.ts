/**
 * Where each tensor of a decoder lies in one flat Float32Array. Matrices are [outputs, inputs], row-major, as Hugging Face
 * stores them. The engine reads q, k and v as one matrix, and gate and up as one; their parts follow each other, so every
 * Hugging Face tensor is one contiguous piece. All matrices come first, all vectors (norms and biases) last: two regions, since
 * weight decay applies to the first only.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';

export interface TensorSlot {
  name: string;
  shape: number[];
  /** First element in the flat array. */
  offset: number;
  length: number;
}

export interface WeightsLayout {
  /** Elements of the flat array. */
  parameters: number;
  /** Elements before the first vector. */
  matrixParameters: number;
  /** The engine's own tensors, by the names of `layerTensors`, `EMBEDDING`, `HEAD` and `FINAL_NORM`. */
  tensors: TensorSlot[];
  /** The same elements under their Hugging Face names. */
  huggingFace: TensorSlot[];
}

export const EMBEDDING = 'embedding';
/** [vocabSize, hiddenSize]; only where the head is not tied to the embedding. */
export const HEAD = 'head';
export const FINAL_NORM = 'finalNorm';

/** The engine's tensors of a layer. The layout holds the last three only where the config asks for them. */
export interface LayerTensors {
  attentionNorm: string;
  /** [(heads + 2 kvHeads) * headSize, hiddenSize]: q, then k, then v. */
  queryKeyValue: string;
  /** [hiddenSize, heads * headSize] */
  attentionOutput: string;
  feedForwardNorm: string;
  /** [2 * feedForwardSize, hiddenSize]: gate, then up. */
  gateUp: string;
  /** [hiddenSize, feedForwardSize] */
  down: string;
  /** [(heads + 2 kvHeads) * headSize]: of q, then k, then v. */
  queryKeyValueBias: string;
  /** [headSize], shared by all heads. */
  queryNorm: string;
  keyNorm: string;
}

/** Their names. */
export function layerTensors(layer: number): LayerTensors {
  const name = (part: string): string => `layer${layer}.${part}`;
  return {
    attentionNorm: name('attentionNorm'),
    queryKeyValue: name('queryKeyValue'),
    attentionOutput: name('attentionOutput'),
    feedForwardNorm: name('feedForwardNorm'),
    gateUp: name('gateUp'),
    down: name('down'),
    queryKeyValueBias: name('queryKeyValueBias'),
    queryNorm: name('queryNorm'),
    keyNorm: name('keyNorm'),
  };
}

export function weightsLayout(config: DecoderConfig): WeightsLayout {
  const { vocabSize, hiddenSize, layers, heads, kvHeads, headSize, feedForwardSize } = config;
  const tensors: TensorSlot[] = [];
  const huggingFace: TensorSlot[] = [];
  let offset = 0;

  /** Appends an engine tensor made of Hugging Face tensors stacked along the first axis. */
  function append(name: string, parts: { name: string; shape: number[] }[]): void {
    const start = offset;
    for (const part of parts) {
      const length = part.shape.reduce((product, size) => product * size, 1);
      huggingFace.push({ ...part, offset, length });
      offset += length;
    }
    const rows = parts.reduce((sum, part) => sum + part.shape[0]!, 0);
    tensors.push({ name, shape: [rows, ...parts[0]!.shape.slice(1)], offset: start, length: offset - start });
  }

  append(EMBEDDING, [{ name: 'model.embed_tokens.weight', shape: [vocabSize, hiddenSize] }]);
  for (let layer = 0; layer < layers; layer++) {
    const names = layerTensors(layer);
    const prefix = `model.layers.${layer}`;
    append(names.queryKeyValue, [
      { name: `${prefix}.self_attn.q_proj.weight`, shape: [heads * headSize, hiddenSize] },
      { name: `${prefix}.self_attn.k_proj.weight`, shape: [kvHeads * headSize, hiddenSize] },
      { name: `${prefix}.self_attn.v_proj.weight`, shape: [kvHeads * headSize, hiddenSize] },
    ]);
    append(names.attentionOutput, [
      { name: `${prefix}.self_attn.o_proj.weight`, shape: [hiddenSize, heads * headSize] },
    ]);
    append(names.gateUp, [
      { name: `${prefix}.mlp.gate_proj.weight`, shape: [feedForwardSize, hiddenSize] },
      { name: `${prefix}.mlp.up_proj.weight`, shape: [feedForwardSize, hiddenSize] },
    ]);
    append(names.down, [{ name: `${prefix}.mlp.down_proj.weight`, shape: [hiddenSize, feedForwardSize] }]);
  }
  if (!config.tiedHead) append(HEAD, [{ name: 'lm_head.weight', shape: [vocabSize, hiddenSize] }]);
  const matrixParameters = offset;
  for (let layer = 0; layer < layers; layer++) {
    const names = layerTensors(layer);
    const prefix = `model.layers.${layer}`;
    append(names.attentionNorm, [{ name: `${prefix}.input_layernorm.weight`, shape: [hiddenSize] }]);
    append(names.feedForwardNorm, [
      { name: `${prefix}.post_attention_layernorm.weight`, shape: [hiddenSize] },
    ]);
    if (config.attentionBias) {
      append(names.queryKeyValueBias, [
        { name: `${prefix}.self_attn.q_proj.bias`, shape: [heads * headSize] },
        { name: `${prefix}.self_attn.k_proj.bias`, shape: [kvHeads * headSize] },
        { name: `${prefix}.self_attn.v_proj.bias`, shape: [kvHeads * headSize] },
      ]);
    }
    if (config.queryKeyNorm) {
      append(names.queryNorm, [{ name: `${prefix}.self_attn.q_norm.weight`, shape: [headSize] }]);
      append(names.keyNorm, [{ name: `${prefix}.self_attn.k_norm.weight`, shape: [headSize] }]);
    }
  }
  append(FINAL_NORM, [{ name: 'model.norm.weight', shape: [hiddenSize] }]);
  return { parameters: offset, matrixParameters, tensors, huggingFace };
}
