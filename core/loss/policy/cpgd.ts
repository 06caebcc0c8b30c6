import type { PolicyLoss } from '../ops.ts';
import type { PolicyLossOf } from '../settings.ts';
import { choose, clipFractions, logRatioOf, ratioMetrics } from './ratio.ts';

/**
 * Clipped Policy Gradient Optimization with Policy Drift (arXiv 2505.12504, equation 3): a policy gradient without a ratio, whose
 * log-prob stops counting when it has moved far enough:
 *
 *   A > 0: loss = -min(log policy, log old + log(1 + clipHigh)) * A
 *   else:  loss = -max(log policy, log old + log(1 - clipLow)) * A
 *
 * The paper's drift term is the KL term of the recipe.
 */
export const cpgd: PolicyLoss<PolicyLossOf<'cpgd'>> = (ops, inputs, settings) => {
  const { logprobs, oldLogprobs, advantages } = inputs;
  const bounds: [number, number] = [Math.log(1 - settings.clipLow), Math.log(1 + settings.clipHigh)];
  const least = ops.add(oldLogprobs, ops.constant(bounds[0]));
  const most = ops.add(oldLogprobs, ops.constant(bounds[1]));
  const isGood = ops.greaterThan(advantages, ops.constant(0));
  const clipped = choose(ops, isGood, ops.minimum(logprobs, most), ops.maximum(logprobs, least));
  const logRatio = logRatioOf(ops, inputs);
  return {
    loss: ops.neg(ops.mul(clipped, advantages)),
    metrics: {
      ...ratioMetrics(ops, logRatio, ops.exp(logRatio)),
      ...clipFractions(ops, logRatio, bounds, advantages),
    },
  };
};
