/**
 * Where each tensor of a decoder lies in one flat Float32Array. Matrices are [outputs, inputs], row-major, as Hugging Face
 * stores them. The engine reads q, k and v as one matrix, and gate and up as one; their parts follow each other, so every
 * Hugging Face tensor is one contiguous piece. All matrices come first, all vectors (norms and biases) last: two regions, since
 * weight decay applies to the first only.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { decoderTensors } from '../model/decoder-tensors.ts';

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
/** [1, hiddenSize], in place of the head: one number from a hidden vector. */
export const SCORE = 'score';
export const FINAL_NORM = 'finalNorm';

/** What stands at the end of the layout: the language model's head, a score, or nothing of either. */
export type LayoutHead = 'token' | 'score' | 'none';

/** The tensor [vocabSize, hiddenSize] that turns hidden vectors into logits. */
export function headTensor({ tiedHead }: Pick<DecoderConfig, 'tiedHead'>): string {
  return tiedHead ? EMBEDDING : HEAD;
}

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

export function weightsLayout(config: DecoderConfig, head: LayoutHead = 'token'): WeightsLayout {
  const shapes = new Map(decoderTensors(config).map(({ name, shape }) => [name, shape]));
  shapes.set('score.weight', [1, config.hiddenSize]);
  const tensors: TensorSlot[] = [];
  const huggingFace: TensorSlot[] = [];
  let offset = 0;

  /** Appends an engine tensor made of Hugging Face tensors stacked along the first axis. */
  function append(name: string, parts: string[]): void {
    const start = offset;
    for (const part of parts) {
      const shape = shapes.get(part)!;
      const length = shape.reduce((product, size) => product * size, 1);
      huggingFace.push({ name: part, shape, offset, length });
      offset += length;
    }
    const stacked = huggingFace.slice(-parts.length).map(({ shape }) => shape);
    const rows = stacked.reduce((sum, [size]) => sum + size!, 0);
    tensors.push({ name, shape: [rows, ...stacked[0]!.slice(1)], offset: start, length: offset - start });
  }
  function eachLayer(append: (names: LayerTensors, of: (part: string) => string) => void): void {
    for (let layer = 0; layer < config.layers; layer++) {
      append(layerTensors(layer), (part) => `model.layers.${layer}.${part}`);
    }
  }
  const projections = ['q_proj', 'k_proj', 'v_proj'];

  append(EMBEDDING, ['model.embed_tokens.weight']);
  eachLayer((names, of) => {
    append(
      names.queryKeyValue,
      projections.map((name) => of(`self_attn.${name}.weight`)),
    );
    append(names.attentionOutput, [of('self_attn.o_proj.weight')]);
    append(names.gateUp, [of('mlp.gate_proj.weight'), of('mlp.up_proj.weight')]);
    append(names.down, [of('mlp.down_proj.weight')]);
  });
  if (head === 'token' && !config.tiedHead) append(HEAD, ['lm_head.weight']);
  if (head === 'score') append(SCORE, ['score.weight']);
  const matrixParameters = offset;
  eachLayer((names, of) => {
    append(names.attentionNorm, [of('input_layernorm.weight')]);
    append(names.feedForwardNorm, [of('post_attention_layernorm.weight')]);
    if (config.attentionBias) {
      append(
        names.queryKeyValueBias,
        projections.map((name) => of(`self_attn.${name}.bias`)),
      );
    }
    if (config.queryKeyNorm) {
      append(names.queryNorm, [of('self_attn.q_norm.weight')]);
      append(names.keyNorm, [of('self_attn.k_norm.weight')]);
    }
  });
  append(FINAL_NORM, ['model.norm.weight']);
  return { parameters: offset, matrixParameters, tensors, huggingFace };
}
