/**
 * A Llama forward pass in float64, written for clarity: the oracle for engines and exports. One row, no cache, no batching.
 * Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023, with grouped-query attention (Ainslie et al.
 * 2023); rotary positions in the half-split layout of Hugging Face checkpoints.
 */
import type { DecoderConfig } from '../../gpu/model/decoder-config.ts';
import type { Tensors } from '../../gpu/model/safetensors.ts';

type Vector = Float64Array<ArrayBufferLike>;

/** matrix [out, in] times vector [in]. */
function multiply(matrix: Float32Array, vector: Vector): Vector {
  const width = vector.length;
  return Float64Array.from({ length: matrix.length / width }, (_, row) => {
    let sum = 0;
    for (let column = 0; column < width; column++) sum += matrix[row * width + column]! * vector[column]!;
    return sum;
  });
}

function rmsNorm(vector: Vector, gain: Float32Array, epsilon: number): Vector {
  const meanSquare = vector.reduce((sum, x) => sum + x * x, 0) / vector.length;
  const scale = 1 / Math.sqrt(meanSquare + epsilon);
  return vector.map((x, i) => x * scale * gain[i]!);
}

function add(a: Vector, b: Vector): Vector {
  return a.map((x, i) => x + b[i]!);
}

/** Turns the pairs (i, i + headSize/2) of each head by position * theta^(-2i/headSize). */
function rotate(vector: Vector, position: number, { headSize, ropeTheta }: DecoderConfig): Vector {
  const half = headSize / 2;
  return vector.map((x, index) => {
    const within = index % headSize;
    const angle = position * ropeTheta ** ((-2 * (within % half)) / headSize);
    const partner = within < half ? -vector[index + half]! : vector[index - half]!;
    return x * Math.cos(angle) + partner * Math.sin(angle);
  });
}

export function logSoftmax(logits: Vector): Vector {
  const largest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const logSum = largest + Math.log(logits.reduce((sum, x) => sum + Math.exp(x - largest), 0));
  return logits.map((x) => x - logSum);
}

/** Causal attention of the last position over all keys and values so far. */
function attend(query: Vector, keys: Vector[], values: Vector[], config: DecoderConfig): Vector {
  const { heads, kvHeads, headSize } = config;
  const result = new Float64Array(heads * headSize);
  for (let head = 0; head < heads; head++) {
    const q = head * headSize;
    const kv = Math.floor(head / (heads / kvHeads)) * headSize;
    const scores = Float64Array.from(keys, (key) => {
      let dot = 0;
      for (let d = 0; d < headSize; d++) dot += query[q + d]! * key[kv + d]!;
      return dot / Math.sqrt(headSize);
    });
    logSoftmax(scores).forEach((logWeight, position) => {
      for (let d = 0; d < headSize; d++) result[q + d]! += Math.exp(logWeight) * values[position]![kv + d]!;
    });
  }
  return result;
}

/** Logits [T][vocabSize] of a row of T token ids. */
export function referenceForward(config: DecoderConfig, tensors: Tensors, ids: readonly number[]): Vector[] {
  const weight = (name: string): Float32Array => tensors.get(`model.${name}.weight`)!.data;
  const embedding = weight('embed_tokens');
  const { hiddenSize, normEpsilon } = config;
  let hiddenT: Vector[] = ids.map((id) =>
    Float64Array.from(embedding.subarray(id * hiddenSize, (id + 1) * hiddenSize)),
  );
  for (let layer = 0; layer < config.layers; layer++) {
    const of = (name: string): Float32Array => weight(`layers.${layer}.${name}`);
    const normedT = hiddenT.map((hidden) => rmsNorm(hidden, of('input_layernorm'), normEpsilon));
    const project = (name: string) => normedT.map((x) => multiply(of(`self_attn.${name}`), x));
    const queriesT = project('q_proj').map((q, position) => rotate(q, position, config));
    const keysT = project('k_proj').map((k, position) => rotate(k, position, config));
    const valuesT = project('v_proj');
    hiddenT = hiddenT.map((hidden, position) => {
      const seen = position + 1;
      const attended = attend(queriesT[position]!, keysT.slice(0, seen), valuesT.slice(0, seen), config);
      const afterAttention = add(hidden, multiply(of('self_attn.o_proj'), attended));
      const normed = rmsNorm(afterAttention, of('post_attention_layernorm'), normEpsilon);
      const up = multiply(of('mlp.up_proj'), normed);
      const gated = multiply(of('mlp.gate_proj'), normed).map((x, i) => (x / (1 + Math.exp(-x))) * up[i]!);
      return add(afterAttention, multiply(of('mlp.down_proj'), gated));
    });
  }
  return hiddenT.map((hidden) => multiply(embedding, rmsNorm(hidden, weight('norm'), normEpsilon)));
}
