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

/** Operations that add nodes to `graph`, with gradients on `tape`. */
export function emittingOps(graph: Graph, tape: Tape): LossOps<Value> {
  let constants = 0;
  const constant = (): Value => graph.input(lossConstantName(constants++), []);
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
  };
  return { ops: recorder, constants };
}
