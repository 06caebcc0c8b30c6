import type { PolicyLoss } from '../ops.ts';
import type { PolicyLossOf } from '../settings.ts';
import { logRatioOf, ratioMetrics, sign } from './ratio.ts';
import { ppoClip } from './ppo-clip.ts';

/**
 * Clip-Cov (arXiv 2505.22617, equations 10 and 11): the clipped surrogate, in which the chosen tokens, those whose log-prob and
 * advantage vary together so strongly that they would cost the policy its entropy, give no gradient. Which they are is decided over
 * the whole minibatch (core/covariance-choice.ts).
 */
export const clipCov: PolicyLoss<PolicyLossOf<'clip-cov'>> = (ops, inputs, settings) => {
  const { loss, metrics } = ppoClip(ops, inputs, settings);
  const kept = ops.sub(ops.constant(1), inputs.chosen);
  return { loss: ops.mul(kept, loss), metrics: { ...metrics, 'policy/chosen_fraction': inputs.chosen } };
};

/**
 * KL-Cov (equation 12): the surrogate without a bound, in which the chosen tokens are held by how far they have moved,
 *
 *   loss = -ratio * A + [chosen] * coefficient * |log(policy / old policy)|
 */
export const klCov: PolicyLoss<PolicyLossOf<'kl-cov'>> = (ops, inputs, { coefficient }) => {
  const { advantages, chosen } = inputs;
  const logRatio = logRatioOf(ops, inputs);
  const ratio = ops.exp(logRatio);
  const distance = ops.mul(sign(ops, logRatio), logRatio);
  const held = ops.mul(ops.mul(ops.constant(coefficient), chosen), distance);
  return {
    loss: ops.sub(held, ops.mul(ratio, advantages)),
    metrics: { ...ratioMetrics(ops, logRatio, ratio), 'policy/chosen_fraction': chosen },
  };
};
