/** Differentiable elementwise operators. Both operands have one shape, or one is a scalar that is not tracked. */
import type { Tape } from './autodiff.ts';
import type { Value } from './graph.ts';
import * as ops from './ops.ts';

type Binary = (tape: Tape, a: Value, b: Value) => Value;
type Unary = (tape: Tape, a: Value) => Value;

/** The backward pass is added only for tracked operands; `a` and `b` give their gradients from that of the result `y`. */
function differentiableBinary(
  forward: (a: Value, b: Value) => Value,
  gradientA: (dy: Value, a: Value, b: Value) => Value,
  gradientB: (dy: Value, a: Value, b: Value) => Value,
): Binary {
  return (tape, a, b) => {
    const y = forward(a, b);
    if (!tape.tracks(a) && !tape.tracks(b)) return y;
    return tape.record(y, (dy) => {
      if (tape.tracks(a)) tape.accumulate(a, gradientA(dy, a, b));
      if (tape.tracks(b)) tape.accumulate(b, gradientB(dy, a, b));
    });
  };
}

function differentiableUnary(
  forward: (a: Value) => Value,
  gradient: (dy: Value, a: Value, y: Value) => Value,
): Unary {
  return (tape, a) => {
    const y = forward(a);
    return tape.tracks(a) ? tape.record(y, (dy) => tape.accumulate(a, gradient(dy, a, y))) : y;
  };
}

/** `gradient` where a bool condition holds, else 0. */
const masked = (gradient: Value, condition: Value): Value =>
  ops.where(condition, gradient, gradient.graph.scalar(0));

const not = (condition: Value): Value =>
  condition.graph.node('Not', [condition], [{ shape: condition.shape, type: 'bool' }])[0]!;

export const add = differentiableBinary(
  ops.add,
  (dy) => dy,
  (dy) => dy,
);
export const sub = differentiableBinary(
  ops.sub,
  (dy) => dy,
  (dy) => ops.neg(dy),
);
export const mul = differentiableBinary(
  ops.mul,
  (dy, _, b) => ops.mul(dy, b),
  (dy, a) => ops.mul(dy, a),
);
/** Ties give the gradient to `a`. */
export const minimum = differentiableBinary(
  ops.minimum,
  (dy, a, b) => masked(dy, ops.lessOrEqual(a, b)),
  (dy, a, b) => masked(dy, not(ops.lessOrEqual(a, b))),
);
/** Ties give the gradient to `a`. */
export const maximum = differentiableBinary(
  ops.maximum,
  (dy, a, b) => masked(dy, ops.greaterOrEqual(a, b)),
  (dy, a, b) => masked(dy, not(ops.greaterOrEqual(a, b))),
);
export const neg = differentiableUnary(ops.neg, (dy) => ops.neg(dy));
export const exp = differentiableUnary(ops.exp, (dy, _, y) => ops.mul(dy, y));
export const log = differentiableUnary(ops.log, (dy, a) => ops.div(dy, a));

/** A linear operation that is its own transpose. */
export function symmetric(tape: Tape, a: Value, operation: (a: Value) => Value): Value {
  return differentiableUnary(operation, (dy) => operation(dy))(tape, a);
}
