/** The low-rank term of an adapter (LoRA, Hu et al. 2021, arXiv 2106.09685, equation 3), with its backward pass. */
import type { Tape } from './autodiff.ts';
import { accumulateOuter } from './differentiable.ts';
import type { Value } from './graph.ts';
import * as ops from './ops.ts';

/** y + scale (x a^T) b^T for y [T, out], x [T, in], a [r, in] and b [out, r]. */
export function addLowRank(tape: Tape, y: Value, x: Value, a: Value, b: Value, scale: number): Value {
  const inner = ops.matmul(x, a, { transposeB: true, alpha: scale });
  const [sum] = y.graph.node('Gemm', [inner, b, y], [{ shape: y.shape }], { transB: 1 });
  return tape.record(sum!, (dSum) => {
    tape.accumulate(y, dSum);
    accumulateOuter(tape, b, dSum, inner);
    const dInner = ops.matmul(dSum, b, { alpha: scale });
    accumulateOuter(tape, a, dInner, x);
    if (tape.tracks(x)) tape.accumulate(x, ops.matmul(dInner, a));
  });
}
