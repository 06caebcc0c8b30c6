/**
 * A decoder's forward pass in float64, written for clarity: the oracle for engines and exports. One row, no cache, no batching.
 * Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023, with grouped-query attention (Ainslie et al.
 * 2023) and the options of its relatives; rotary positions in the half-split layout of Hugging Face checkpoints.
 */
import type { DecoderConfig } from '../../gpu/model/decoder-config.ts';

type Vector = Float64Array<ArrayBufferLike>;
type Numbers = Float32Array | Float64Array;
/** Tensors by their Hugging Face names. */
export type ReferenceTensors = ReadonlyMap<string, { shape: number[]; data: Numbers }>;

/** matrix [out, in] times vector [in]. */
function multiply(matrix: Numbers, vector: Vector): Vector {
  const width = vector.length;
  return Float64Array.from({ length: matrix.length / width }, (_, row) => {
    let sum = 0;
    for (let column = 0; column < width; column++) sum += matrix[row * width + column]! * vector[column]!;
    return sum;
  });
}

function rmsNorm(vector: Vector, gain: Numbers, epsilon: number): Vector {
  const meanSquare = vector.reduce((sum, x) => sum + x * x, 0) / vector.length;
  const scale = 1 / Math.sqrt(meanSquare + epsilon);
  return vector.map((x, i) => x * scale * gain[i]!);
}

function add(a: Vector, b: Vector): Vector {
  return a.map((x, i) => x + b[i]!);
}

/** Normalizes each head by itself, with one gain for all. */
function normHeads(vector: Vector, gain: Numbers, epsilon: number): Vector {
  const normed = new Float64Array(vector.length);
  for (let start = 0; start < vector.length; start += gain.length) {
    normed.set(rmsNorm(vector.subarray(start, start + gain.length), gain, epsilon), start);
  }
  return normed;
}

/** Radians a position of the pairs (i, i + headSize/2), with the scaling of the long-context variants. */
function frequency(i: number, { headSize, ropeTheta, ropeScaling }: DecoderConfig): number {
  const unscaled = ropeTheta ** ((-2 * i) / headSize);
  if (ropeScaling === null) return unscaled;
  const slowed = unscaled / ropeScaling.factor;
  if (ropeScaling.kind === 'linear') return slowed;
  const { lowFrequencyFactor, highFrequencyFactor, originalMaxPositions } = ropeScaling;
  const wavelength = (2 * Math.PI) / unscaled;
  if (wavelength < originalMaxPositions / highFrequencyFactor) return unscaled;
  if (wavelength > originalMaxPositions / lowFrequencyFactor) return slowed;
  const smooth =
    (originalMaxPositions / wavelength - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  return (1 - smooth) * slowed + smooth * unscaled;
}

/** Turns the pairs of each head by position * frequency. */
function rotate(vector: Vector, position: number, config: DecoderConfig): Vector {
  const { headSize } = config;
  const half = headSize / 2;
  return vector.map((x, index) => {
    const within = index % headSize;
    const angle = position * frequency(within % half, config);
    const partner = within < half ? -vector[index + half]! : vector[index - half]!;
    return x * Math.cos(angle) + partner * Math.sin(angle);
  });
}

export function logSoftmax(logits: Vector): Vector {
  const largest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const logSum = largest + Math.log(logits.reduce((sum, x) => sum + Math.exp(x - largest), 0));
  return logits.map((x) => x - logSum);
}

/** Attention of the last position over the given keys and values. */
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
export function referenceForward(
  config: DecoderConfig,
  tensors: ReferenceTensors,
  ids: readonly number[],
): Vector[] {
  const head = tensors.get(config.tiedHead ? 'model.embed_tokens.weight' : 'lm_head.weight')!.data;
  return referenceHidden(config, tensors, ids).map((hidden) => multiply(head, hidden));
}

/** What the head reads: normalized hidden vectors [T][hiddenSize]. */
export function referenceHidden(
  config: DecoderConfig,
  tensors: ReferenceTensors,
  ids: readonly number[],
): Vector[] {
  const weight = (name: string): Numbers => tensors.get(name)!.data;
  const embedding = weight('model.embed_tokens.weight');
  const { hiddenSize, normEpsilon } = config;
  let hiddenT: Vector[] = ids.map((id) =>
    Float64Array.from(embedding.subarray(id * hiddenSize, (id + 1) * hiddenSize)),
  );
  for (let layer = 0; layer < config.layers; layer++) {
    const of = (name: string): Numbers => weight(`model.layers.${layer}.${name}`);
    const normedT = hiddenT.map((hidden) => rmsNorm(hidden, of('input_layernorm.weight'), normEpsilon));
    const project = (name: string): Vector[] =>
      normedT.map((x) => {
        const product = multiply(of(`self_attn.${name}.weight`), x);
        const bias = config.attentionBias ? of(`self_attn.${name}.bias`) : undefined;
        return bias ? product.map((y, i) => y + bias[i]!) : product;
      });
    const positioned = (vectorT: Vector[], norm: string): Vector[] =>
      vectorT.map((vector, position) => {
        const gain = config.queryKeyNorm ? of(`self_attn.${norm}.weight`) : undefined;
        return rotate(gain ? normHeads(vector, gain, normEpsilon) : vector, position, config);
      });
    const queriesT = positioned(project('q_proj'), 'q_norm');
    const keysT = positioned(project('k_proj'), 'k_norm');
    const valuesT = project('v_proj');
    hiddenT = hiddenT.map((hidden, position) => {
      const first = Math.max(0, position + 1 - (config.attentionWindow ?? Infinity));
      const seen = (vectorT: Vector[]): Vector[] => vectorT.slice(first, position + 1);
      const attended = attend(queriesT[position]!, seen(keysT), seen(valuesT), config);
      const afterAttention = add(hidden, multiply(of('self_attn.o_proj.weight'), attended));
      const normed = rmsNorm(afterAttention, of('post_attention_layernorm.weight'), normEpsilon);
      const up = multiply(of('mlp.up_proj.weight'), normed);
      const gate = multiply(of('mlp.gate_proj.weight'), normed);
      const gated = gate.map((x, i) => (x / (1 + Math.exp(-x))) * up[i]!);
      return add(afterAttention, multiply(of('mlp.down_proj.weight'), gated));
    });
  }
  const gain = weight('model.norm.weight');
  return hiddenT.map((hidden) => rmsNorm(hidden, gain, normEpsilon));
}
