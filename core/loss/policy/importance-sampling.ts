import type { PolicyLoss } from '../ops.ts';
import type { PolicyLossOf } from '../settings.ts';
import { logRatioOf, ratioMetrics } from './ratio.ts';

/**
 * The surrogate without a bound: loss = -ratio * A. Its gradient is the policy gradient of samples that the old policy drew
 * (Schulman et al., "Trust Region Policy Optimization", arXiv 1502.05477, equation 14).
 */
export const importanceSampling: PolicyLoss<PolicyLossOf<'importance-sampling'>> = (ops, inputs) => {
  const logRatio = logRatioOf(ops, inputs);
  const ratio = ops.exp(logRatio);
  return {
    loss: ops.neg(ops.mul(ratio, inputs.advantages)),
    metrics: ratioMetrics(ops, logRatio, ratio),
  };
};
