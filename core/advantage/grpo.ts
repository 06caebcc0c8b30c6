import { perGroup } from './estimator.ts';
import { isConstant, mean, sampleStandardDeviation } from './statistics.ts';

/**
 * Group Relative Policy Optimization: A_i = (r_i - mean(r)) / (std(r) + epsilon).
 * DeepSeekMath (arXiv 2402.03300), section 4.1.2, which does not say which standard deviation; the unbiased one (n - 1) is
 * used, as in TRL and verl, so that learning rates found there carry over. The other would scale every advantage of a group
 * of n by sqrt(n / (n - 1)).
 */
export const grpo = perGroup((rewardsG, { epsilon }: { epsilon: number }) => {
  if (isConstant(rewardsG)) return rewardsG.map(() => 0);
  const baseline = mean(rewardsG);
  const scale = sampleStandardDeviation(rewardsG) + epsilon;
  return rewardsG.map((reward) => (reward - baseline) / scale);
});
