import { totalReward, type AdvantageEstimator } from './estimator.ts';
import { isConstant, mean } from './statistics.ts';

/**
 * Group Policy Gradient (arXiv 2504.02546, equations 5 and 6): A_i = alpha * (r_i - mean(r)), where alpha is the number of
 * trajectories over the number of those whose group is not constant: groups without signal don't make the gradient smaller.
 */
export const gpg: AdvantageEstimator = (groups) => {
  const rewards = groups.map((group) => group.map(totalReward));
  const count = (chosen: readonly number[][]): number =>
    chosen.reduce((sum, rewardsG) => sum + rewardsG.length, 0);
  const alpha = count(rewards) / count(rewards.filter((rewardsG) => !isConstant(rewardsG)));
  return rewards.map((rewardsG) => {
    if (isConstant(rewardsG)) return rewardsG.map(() => 0);
    const baseline = mean(rewardsG);
    return rewardsG.map((reward) => alpha * (reward - baseline));
  });
};
