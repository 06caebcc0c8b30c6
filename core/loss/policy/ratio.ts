/** The ratio of the trained policy to the old one, and what the policy losses report of it. */
import type { LossInputs, LossOps } from '../ops.ts';

/** Log-ratios beyond this are cut before they are exponentiated, so that one stray token can't make a batch infinite. */
export const largestLogRatio = 20;

/** log(policy / old policy) of each token, cut at ±20. */
export function logRatioOf<T>(ops: LossOps<T>, { logprobs, oldLogprobs }: LossInputs<T>): T {
  return ops.clamp(ops.sub(logprobs, oldLogprobs), -largestLogRatio, largestLogRatio);
}

/** `policy/ratio`, and `policy/approx_kl`: k3 of KL(old policy || policy). */
export function ratioMetrics<T>(ops: LossOps<T>, logRatio: T, ratio: T): Record<string, T> {
  return {
    'policy/ratio': ratio,
    'policy/approx_kl': ops.sub(ops.sub(ratio, ops.constant(1)), logRatio),
  };
}

/**
 * `policy/clip_fraction_low` and `policy/clip_fraction_high`: 1 where a bound takes the token's gradient away, that is where
 * `value` is below `low` and A < 0, or above `high` and A > 0.
 */
export function clipFractions<T>(
  ops: LossOps<T>,
  value: T,
  [low, high]: [low: number, high: number],
  advantages: T,
): Record<string, T> {
  const zero = ops.constant(0);
  const below = ops.greaterThan(ops.constant(low), value);
  const above = ops.greaterThan(value, ops.constant(high));
  return {
    'policy/clip_fraction_low': ops.mul(below, ops.greaterThan(zero, advantages)),
    'policy/clip_fraction_high': ops.mul(above, ops.greaterThan(advantages, zero)),
  };
}

/** `a` where the condition is 1, `b` where it is 0; both must be finite. */
export function choose<T>(ops: LossOps<T>, condition: T, a: T, b: T): T {
  return ops.add(b, ops.mul(condition, ops.sub(a, b)));
}

/** -1, 0 or 1; no gradient. */
export function sign<T>(ops: LossOps<T>, a: T): T {
  const zero = ops.constant(0);
  return ops.sub(ops.greaterThan(a, zero), ops.greaterThan(zero, a));
}
