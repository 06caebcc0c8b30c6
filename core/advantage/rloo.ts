import { perGroup } from './estimator.ts';
import { isConstant, mean } from './statistics.ts';

/**
 * REINFORCE leave-one-out: A_i = r_i - mean of the other n - 1 rewards = n / (n - 1) * (r_i - mean(r)).
 * Ahmadian et al., "Back to Basics" (arXiv 2402.14740).
 */
export const rloo = perGroup((rewardsG) => {
  if (isConstant(rewardsG)) return rewardsG.map(() => 0);
  const baseline = mean(rewardsG);
  const scale = rewardsG.length / (rewardsG.length - 1);
  return rewardsG.map((reward) => scale * (reward - baseline));
});
