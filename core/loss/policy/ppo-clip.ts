import type { PolicyLoss } from '../ops.ts';
import type { PolicyLossOf } from '../settings.ts';
import { choose, clipFractions, logRatioOf, ratioMetrics } from './ratio.ts';

/**
 * The clipped surrogate of Proximal Policy Optimization (arXiv 1707.06347, equation 7), with separate bounds as in DAPO
 * (arXiv 2503.14476, equation 8). With ratio = policy / old policy and advantage A:
 *
 *   loss = -min(ratio * A, clamp(ratio, 1 - clipLow, 1 + clipHigh) * A)
 *
 * With `dualClip` c the loss of a token with A < 0 is at most -c * A (Ye et al., arXiv 1912.09729, equation 5): the gradient of a
 * token that became far likelier in spite of a bad outcome is cut off. Metric `policy/dual_clip_fraction`: where that happens.
 */
export const ppoClip: PolicyLoss<PolicyLossOf<'ppo-clip'>> = (ops, inputs, settings) => {
  const { advantages } = inputs;
  const low = 1 - settings.clipLow;
  const high = 1 + settings.clipHigh;
  const logRatio = logRatioOf(ops, inputs);
  const ratio = ops.exp(logRatio);
  const clipped = ops.clamp(ratio, low, high);
  const loss = ops.neg(ops.minimum(ops.mul(ratio, advantages), ops.mul(clipped, advantages)));
  const metrics = {
    ...ratioMetrics(ops, logRatio, ratio),
    ...clipFractions(ops, ratio, [low, high], advantages),
  };
  if (settings.dualClip === undefined) return { loss, metrics };

  const isBad = ops.greaterThan(ops.constant(0), advantages);
  const most = ops.mul(ops.constant(-settings.dualClip), advantages);
  return {
    loss: choose(ops, isBad, ops.minimum(most, loss), loss),
    metrics: {
      ...metrics,
      'policy/dual_clip_fraction': ops.mul(isBad, ops.greaterThan(loss, most)),
    },
  };
};
