/**
 * Estimators of the divergence KL(policy || reference) at one token sampled by the policy, from d = log policy - log reference.
 * Schulman, "Approximating KL divergence" (2020), joschu.net/blog/kl-approx.html.
 */
import type { AlgorithmSettings } from '../recipe.ts';
import type { LossOps } from './ops.ts';

export type KlEstimatorName = NonNullable<AlgorithmSettings['kl']>['estimator'];

/** Log-ratios beyond this are cut before they are exponentiated, so that one stray token can't make a batch infinite. */
export const largestLogRatio = 20;

type KlEstimator = <T>(ops: LossOps<T>, logprobs: T, referenceLogprobs: T) => T;

/** k1 = d: unbiased, of high variance, negative for some tokens. As a loss its gradient has mean 0. */
const k1: KlEstimator = (ops, logprobs, referenceLogprobs) => ops.sub(logprobs, referenceLogprobs);

/** k2 = d² / 2: biased, of low variance. As a loss its gradient is that of the divergence on average. */
const k2: KlEstimator = (ops, logprobs, referenceLogprobs) => {
  const d = ops.sub(logprobs, referenceLogprobs);
  return ops.mul(ops.constant(0.5), ops.mul(d, d));
};

/** k3 = exp(-d) - 1 + d: unbiased, never negative; the term of GRPO (arXiv 2402.03300, equation 4). */
const k3: KlEstimator = (ops, logprobs, referenceLogprobs) => {
  const minusD = ops.clamp(ops.sub(referenceLogprobs, logprobs), -largestLogRatio, largestLogRatio);
  return ops.sub(ops.sub(ops.exp(minusD), ops.constant(1)), minusD);
};

export const klEstimators: Record<KlEstimatorName, KlEstimator> = { k1, k2, k3 };
