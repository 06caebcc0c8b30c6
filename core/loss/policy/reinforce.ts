import type { PolicyLoss } from '../ops.ts';
import type { PolicyLossOf } from '../settings.ts';
import { logRatioOf, ratioMetrics } from './ratio.ts';

/**
 * The plain policy gradient: loss = -A * log policy. Williams, "Simple statistical gradient-following algorithms", 1992;
 * also the objective of GPG (arXiv 2504.02546, equation 3). Its ratio is reported, not used.
 */
export const reinforce: PolicyLoss<PolicyLossOf<'reinforce'>> = (ops, inputs) => {
  const logRatio = logRatioOf(ops, inputs);
  return {
    loss: ops.neg(ops.mul(inputs.advantages, inputs.logprobs)),
    metrics: ratioMetrics(ops, logRatio, ops.exp(logRatio)),
  };
};
