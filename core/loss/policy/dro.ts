import type { PolicyLoss } from '../ops.ts';
import type { PolicyLossOf } from '../settings.ts';
import { logRatioOf, ratioMetrics } from './ratio.ts';

/**
 * Direct Reward Optimization (Richemond et al., arXiv 2405.19107): the policy gradient held by a quadratic penalty on how far
 * the policy has moved,
 *
 *   loss = -(A * log policy - beta / 2 * log(policy / old policy)²)
 */
export const dro: PolicyLoss<PolicyLossOf<'dro'>> = (ops, inputs, { beta }) => {
  const { logprobs, oldLogprobs, advantages } = inputs;
  const moved = ops.sub(logprobs, oldLogprobs);
  const penalty = ops.mul(ops.constant(beta / 2), ops.mul(moved, moved));
  const logRatio = logRatioOf(ops, inputs);
  return {
    loss: ops.sub(penalty, ops.mul(advantages, logprobs)),
    metrics: ratioMetrics(ops, logRatio, ops.exp(logRatio)),
  };
};
