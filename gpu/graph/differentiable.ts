/**
 * The differentiable operators of a decoder, each with its backward pass beside it.
 * T is the number of tokens (batch times sequence), d the width of a token's vector.
 */
import type { Tape } from './autodiff.ts';
import { MICROSOFT, type Dimension, type Value } from './graph.ts';
import * as ops from './ops.ts';

/** x [T, in] times the transpose of weight [out, in]. */
export function linear(tape: Tape, x: Value, weight: Value): Value {
  const y = ops.matmul(x, weight, { transposeB: true });
  return tape.record(y, (dy) => {
    if (tape.tracks(x)) tape.accumulate(x, ops.matmul(dy, weight));
    accumulateOuter(tape, weight, dy, x);
  });
}

/** x [T, d] plus bias [d] in every row. */
export function addBias(tape: Tape, x: Value, bias: Value): Value {
  return tape.record(ops.add(x, bias), (dy) => {
    tape.accumulate(x, dy);
    if (tape.tracks(bias)) tape.accumulate(bias, ops.reduce('ReduceSum', dy, 0));
  });
}

/** Adds dy^T x to the gradient of `weight`, in the same pass that computes it. */
export function accumulateOuter(tape: Tape, weight: Value, dy: Value, x: Value): void {
  if (!tape.tracks(weight)) return;
  const previous = tape.gradient(weight) ?? null;
  const [gradient] = weight.graph.node('Gemm', [dy, x, previous], [{ shape: weight.shape }], { transA: 1 });
  tape.setGradient(weight, gradient!);
}

export function addition(tape: Tape, a: Value, b: Value): Value {
  return tape.record(ops.add(a, b), (dy) => {
    tape.accumulate(a, dy);
    tape.accumulate(b, dy);
  });
}

/** y = x / sqrt(mean(x²) + epsilon) * weight over the last axis of x [T, d] (Zhang and Sennrich 2019, RMSNorm). */
export function rmsNorm(tape: Tape, x: Value, weight: Value, epsilon: number): Value {
  const [y, inverseRms] = x.graph.node(
    'SimplifiedLayerNormalization',
    [x, weight],
    [{ shape: x.shape }, { shape: [x.shape[0]!, 1] }],
    { axis: -1, epsilon: { float: epsilon } },
  );
  return tape.record(y!, (dy) => {
    const normalized = ops.mul(x, inverseRms!);
    // dx = (dy w - n mean(dy w n)) / rms, where n is the normalized x and w n = y.
    const mean = ops.reduce('ReduceMean', ops.mul(dy, y!), -1, true);
    const inner = ops.sub(ops.mul(dy, weight), ops.mul(normalized, mean));
    tape.accumulate(x, ops.mul(inner, inverseRms!));
    tape.accumulate(weight, ops.reduce('ReduceSum', ops.mul(dy, normalized), 0));
  });
}

export interface RotaryTables {
  /** int64 [1]: the position of the first token of every row. */
  start: Value;
  /** [positions, headSize / 2] each. */
  cos: Value;
  sin: Value;
  negativeSin: Value;
}

/** Rotary position embedding, halves rotated, of x [B, heads, S, headSize] (Su et al. 2021). A rotation back is its gradient. */
export function rotary(tape: Tape, x: Value, tables: RotaryTables): Value {
  const rotate = (value: Value, sin: Value): Value =>
    x.graph.node(
      'RotaryEmbedding',
      [value, tables.start, tables.cos, sin],
      [{ shape: x.shape }],
      {},
      MICROSOFT,
    )[0]!;
  return tape.record(rotate(x, tables.sin), (dy) => tape.accumulate(x, rotate(dy, tables.negativeSin)));
}

/**
 * softmax(scale q k^T + mask) v for q [B, K, Q, headSize], k and v [B, K, S, headSize], and a mask that broadcasts to
 * [B, K, Q, S]. With grouped queries, Q holds the rows of all query heads that share a key head.
 */
export function attention(tape: Tape, q: Value, k: Value, v: Value, mask: Value, scale: number): Value {
  const scores = ops.add(ops.matmul(q, k, { transposeB: true, alpha: scale }), mask);
  const probabilities = ops.softmax(scores);
  const output = ops.matmul(probabilities, v);
  return tape.record(output, (dy) => {
    tape.accumulate(v, ops.matmul(probabilities, dy, { transposeA: true }));
    const dProbabilities = ops.matmul(dy, v, { transposeB: true });
    // sum over S of dP P equals sum over headSize of dy y.
    const rowSum = ops.reduce('ReduceSum', ops.mul(dy, output), -1, true);
    const dScores = ops.mul(ops.sub(dProbabilities, rowSum), probabilities);
    tape.accumulate(q, ops.matmul(dScores, k, { alpha: scale }));
    tape.accumulate(k, ops.matmul(dScores, q, { transposeA: true, alpha: scale }));
  });
}

/** silu(gate) * up, with silu(a) = a sigmoid(a) (Shazeer 2020, SwiGLU). */
export function swiglu(tape: Tape, gate: Value, up: Value): Value {
  const sigmoid = ops.sigmoid(gate);
  const silu = ops.mul(gate, sigmoid);
  const y = ops.mul(silu, up);
  return tape.record(y, (dy) => {
    tape.accumulate(up, ops.mul(dy, silu));
    // d silu / d gate = sigmoid + silu - silu sigmoid
    const slope = ops.add(sigmoid, ops.sub(silu, ops.mul(silu, sigmoid)));
    tape.accumulate(gate, ops.mul(ops.mul(dy, up), slope));
  });
}

/** Reshape by an int64 vector; `back` is the vector that undoes it. */
export function reshape(
  tape: Tape,
  x: Value,
  target: readonly number[] | Value,
  shape: readonly Dimension[],
  back: readonly number[] | Value,
): Value {
  return tape.record(ops.reshape(x, target, shape), (dy) =>
    tape.accumulate(x, ops.reshape(dy, back, x.shape)),
  );
}

export function transpose(tape: Tape, x: Value, permutation: readonly number[]): Value {
  const inverse = permutation.map((_, axis) => permutation.indexOf(axis));
  return tape.record(ops.transpose(x, permutation), (dy) => tape.accumulate(x, ops.transpose(dy, inverse)));
}

/** Splits the columns of x [T, d]; every part must be used. */
export function splitColumns(tape: Tape, x: Value, sizes: readonly number[]): Value[] {
  const parts = ops.split(x, 1, sizes);
  tape.recordAll(parts, (gradients) => tape.accumulate(x, ops.concat(gradients, 1, x.shape)));
  return parts;
}

/** The rows of x [T, d] at `rows` [N], which must be different from each other. */
export function selectRows(tape: Tape, x: Value, rows: Value): Value {
  return tape.record(ops.gatherRows(x, rows), (dy) => {
    const { graph } = x;
    const [zeros] = graph.node('ConstantOfShape', [ops.shapeOf(x)], [{ shape: x.shape }]);
    const indices = ops.reshape(ops.cast(rows, 'int64'), [-1, 1], [rows.shape[0]!, 1]);
    // Without a reduction: adding by ScatterND is a data race in the runtime.
    tape.accumulate(x, graph.node('ScatterND', [zeros!, indices, dy], [{ shape: x.shape }])[0]!);
  });
}
