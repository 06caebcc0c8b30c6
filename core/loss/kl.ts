/**
 * Estimators of the divergence KL(policy || reference) at one token sampled by the policy, from d = log policy - log reference.
 * Schulman, "Approximating KL divergence" (2020), joschu.net/blog/kl-approx.html.
 */
import type { AlgorithmSettings } from '../algorithm.ts';
import type { LossInputs, LossOps } from './ops.ts';
import { largestLogRatio, logRatioOf, sign } from './policy/ratio.ts';

export type KlEstimatorName = NonNullable<AlgorithmSettings['kl']>['estimator'];

type KlEstimator = <T>(ops: LossOps<T>, inputs: LossInputs<T>) => T;

const difference: KlEstimator = (ops, { logprobs, referenceLogprobs }) =>
  ops.sub(logprobs, referenceLogprobs);

/** k1 = d: unbiased, of high variance, negative for some tokens. As a loss its gradient has mean 0. */
const k1: KlEstimator = difference;

/** |d|: no estimate of the divergence, but a distance that grows as slowly as k1. */
const absolute: KlEstimator = (ops, inputs) => {
  const d = difference(ops, inputs);
  return ops.mul(sign(ops, d), d);
};

/** k2 = d² / 2: biased, of low variance. As a loss its gradient is that of the divergence on average. */
const k2: KlEstimator = (ops, inputs) => {
  const d = difference(ops, inputs);
  return ops.mul(ops.constant(0.5), ops.mul(d, d));
};

/** k3 = exp(-d) - 1 + d: unbiased, never negative; the term of GRPO (arXiv 2402.03300, equation 4). */
const k3: KlEstimator = (ops, { logprobs, referenceLogprobs }) => {
  const minusD = ops.clamp(ops.sub(referenceLogprobs, logprobs), -largestLogRatio, largestLogRatio);
  return ops.sub(ops.sub(ops.exp(minusD), ops.constant(1)), minusD);
};

/** k3 of at most 10, as verl's and slime's `low_var_kl`: a token that is far off gives no gradient. */
const k3Clamped: KlEstimator = (ops, inputs) => ops.clamp(k3(ops, inputs), -10, 10);

/**
 * ratio * k3 with ratio = policy / old policy: unbiased, and so is its gradient, for tokens that the old policy sampled
 * (DeepSeek-V3.2, arXiv 2512.02556, section 3.1).
 */
const k3Unbiased: KlEstimator = (ops, inputs) => ops.mul(ops.exp(logRatioOf(ops, inputs)), k3(ops, inputs));

/** The value of k3 with the gradient of k2, which is that of the divergence on average; `k3+` in verl. */
const k3GradientOfK2: KlEstimator = (ops, inputs) => {
  const gradient = k2(ops, inputs);
  const value = ops.stopGradient(ops.sub(k3(ops, inputs), gradient));
  return ops.add(gradient, value);
};

export const klEstimators: Record<KlEstimatorName, KlEstimator> = {
  k1,
  absolute,
  k2,
  k3,
  'k3-clamped': k3Clamped,
  'k3-unbiased': k3Unbiased,
  'k3-gradient-k2': k3GradientOfK2,
};
