import { perGroup } from './estimator.ts';
import { isConstant, mean } from './statistics.ts';

/**
 * Dr. GRPO: A_i = r_i - mean(r), without the division that weighs groups by their difficulty.
 * Liu et al., "Understanding R1-Zero-Like Training" (arXiv 2503.20783). Also REINFORCE with the group's mean as baseline.
 */
export const drGrpo = perGroup((rewardsG) => {
  if (isConstant(rewardsG)) return rewardsG.map(() => 0);
  const baseline = mean(rewardsG);
  return rewardsG.map((reward) => reward - baseline);
});
