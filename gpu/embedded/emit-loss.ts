/**
 * A per-token loss (core/loss) as nodes of a training graph. Its numbers become inputs of the graph, so that another clip range
 * or KL coefficient needs no other session.
 */
import type { LossOps } from '../../core/loss/ops.ts';
import type { Tape } from '../graph/autodiff.ts';
import * as differentiable from '../graph/differentiable-elementwise.ts';
import type { Graph, Value } from '../graph/graph.ts';
import * as ops from '../graph/ops.ts';

/** The name of the graph input that holds a loss's i-th number. */
export const lossConstantName = (i: number): string => `lossConstant${i}`;

/** Graph inputs that tell which trained tokens (N) make up which of B rows of at most S. */
export const rowInputs = {
  /** [B, S]: the tokens of each row, and N where there is none. */
  tokensOfRow: 'tokensOfRow',
  /** [B, 1]: one over the number of tokens. */
  inverseCounts: 'inverseTokenCounts',
  /** [N]: the row of each token. */
  rowOfToken: 'rowOfToken',
} as const;

/** The mean over each token's row of a value of each token, [N, 1]. */
function rowMeanOf(graph: Graph): (a: Value) => Value {
  const tokensOfRow = graph.input(rowInputs.tokensOfRow, ['B', 'S'], 'int32');
  const inverseCounts = graph.input(rowInputs.inverseCounts, ['B', 1]);
  const rowOfToken = graph.input(rowInputs.rowOfToken, ['N'], 'int32');
  const zero = graph.constant([1, 1], Float32Array.of(0));
  return (a) => {
    const padded = ops.concat([a, zero], 0, ['N+1', 1]);
    const sums = ops.reduce('ReduceSum', ops.gatherRows(padded, tokensOfRow), 1);
    return ops.gatherRows(ops.mul(sums, inverseCounts), rowOfToken);
  };
}

/** Operations that add nodes to `graph`, with gradients on `tape`. */
export function emittingOps(graph: Graph, tape: Tape): LossOps<Value> {
  let constants = 0;
  const constant = (): Value => graph.input(lossConstantName(constants++), []);
  let rowMean: ((a: Value) => Value) | undefined;
  return {
    constant,
    add: (a, b) => differentiable.add(tape, a, b),
    sub: (a, b) => differentiable.sub(tape, a, b),
    mul: (a, b) => differentiable.mul(tape, a, b),
    neg: (a) => differentiable.neg(tape, a),
    exp: (a) => differentiable.exp(tape, a),
    log: (a) => differentiable.log(tape, a),
    minimum: (a, b) => differentiable.minimum(tape, a, b),
    maximum: (a, b) => differentiable.maximum(tape, a, b),
    clamp: (a) => {
      const low = constant();
      return differentiable.minimum(tape, differentiable.maximum(tape, a, low), constant());
    },
    stopGradient: (a) => ops.identity(a),
    greaterThan: (a, b) => ops.cast(ops.greater(a, b), 'float32'),
    rowMean: (a) => {
      rowMean ??= rowMeanOf(graph);
      return differentiable.symmetric(tape, a, rowMean);
    },
  };
}

/** Operations that compute nothing but note the numbers, in the order in which `emittingOps` declares their inputs. */
export function constantRecorder(): { ops: LossOps<null>; constants: number[] } {
  const constants: number[] = [];
  const nothing = (): null => null;
  const recorder: LossOps<null> = {
    constant: (value) => {
      constants.push(value);
      return null;
    },
    clamp: (_, low, high) => {
      constants.push(low, high);
      return null;
    },
    add: nothing,
    sub: nothing,
    mul: nothing,
    neg: nothing,
    exp: nothing,
    log: nothing,
    minimum: nothing,
    maximum: nothing,
    stopGradient: nothing,
    greaterThan: nothing,
    rowMean: nothing,
  };
  return { ops: recorder, constants };
}
