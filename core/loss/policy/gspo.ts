import type { LossOps, LossTerms, PolicyLoss } from '../ops.ts';
import type { PolicyLossOf } from '../settings.ts';
import { clipFractions, logRatioOf, ratioMetrics } from './ratio.ts';

/**
 * Group Sequence Policy Optimization (arXiv 2507.18071). One ratio for a whole response of length L,
 *
 *   s = (policy(response) / old policy(response)) ^ (1 / L) = exp(mean over its tokens of the log-ratio),
 *   loss = -min(s * A, clamp(s, 1 - clipLow, 1 + clipHigh) * A)
 *
 * (equations 5 and 7). It is meant for `sequence-mean-token-mean`, where the loss of a response is the mean over its tokens of this
 * one number, and for bounds near 3e-4.
 */
export const gspo: PolicyLoss<PolicyLossOf<'gspo'>> = (ops, inputs, settings) => {
  const logRatio = ops.rowMean(logRatioOf(ops, inputs));
  return clippedSequence(ops, inputs.advantages, logRatio, settings);
};

/**
 * GSPO-token (equations 13 to 17): the same number at each token, s_t = sg[s] * policy_t / sg[policy_t], through which
 * only the token's own log-prob gets a gradient. With one advantage for all tokens it is GSPO; it also takes an advantage
 * for each token.
 */
export const gspoToken: PolicyLoss<PolicyLossOf<'gspo-token'>> = (ops, inputs, settings) => {
  const { logprobs } = inputs;
  const sequence = ops.stopGradient(ops.rowMean(logRatioOf(ops, inputs)));
  const logRatio = ops.add(sequence, ops.sub(logprobs, ops.stopGradient(logprobs)));
  return clippedSequence(ops, inputs.advantages, logRatio, settings);
};

function clippedSequence<T>(
  ops: LossOps<T>,
  advantages: T,
  logRatio: T,
  { clipLow, clipHigh }: { clipLow: number; clipHigh: number },
): LossTerms<T> {
  const bounds: [number, number] = [1 - clipLow, 1 + clipHigh];
  const ratio = ops.exp(logRatio);
  const clipped = ops.clamp(ratio, ...bounds);
  return {
    loss: ops.neg(ops.minimum(ops.mul(ratio, advantages), ops.mul(clipped, advantages))),
    metrics: { ...ratioMetrics(ops, logRatio, ratio), ...clipFractions(ops, ratio, bounds, advantages) },
  };
}
