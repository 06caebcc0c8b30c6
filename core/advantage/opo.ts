import { totalReward, type AdvantageEstimator } from './estimator.ts';
import { isConstant } from './statistics.ts';

/**
 * On-Policy RL with Optimal reward baseline (arXiv 2505.23585, equation 8): A_i = r_i - b, where the baseline is the mean of the
 * group's rewards weighted by the lengths of the responses, b = sum(L_i * r_i) / sum(L_i): the choice of least variance when the
 * gradients of tokens are uncorrelated and equally large.
 */
export const opo: AdvantageEstimator = (groups) =>
  groups.map((group) => {
    const rewardsG = group.map(totalReward);
    const tokens = group.reduce((sum, member) => sum + member.tokens, 0);
    if (isConstant(rewardsG) || tokens === 0) return rewardsG.map(() => 0);
    const baseline = group.reduce((sum, member, i) => sum + member.tokens * rewardsG[i]!, 0) / tokens;
    return rewardsG.map((reward) => reward - baseline);
  });
