import { totalReward, type AdvantageEstimator } from './estimator.ts';
import { isConstant, mean } from './statistics.ts';

export interface CpgdSettings {
  /** What deviations from the group's mean are scaled by. */
  weight: 'equal' | 'standard-deviation' | 'clip-filter';
}

/** Keeps quotients finite. */
const epsilon = 1e-6;
/** The largest weight that groups without signal lend to the others. */
const largestWeight = 3;

/**
 * The advantages of CPGD (arXiv 2505.12504, section 4.2), A_i = w * (r_i - mean(r)), with w
 * - 1 (`equal`),
 * - 1 / (std(r) + 1e-6), the standard deviation with divisor n (`standard-deviation`), or
 * - min(trajectories / trajectories of groups that are not constant, 3) (`clip-filter`): as if groups without signal had been filtered
 *   out and replaced.
 */
export const cpgd: AdvantageEstimator<CpgdSettings> = (groups, { weight }) => {
  const rewards = groups.map((group) => group.map(totalReward));
  const all = rewards.flat().length;
  const withSignal = rewards.filter((rewardsG) => !isConstant(rewardsG)).flat().length;
  return rewards.map((rewardsG) => {
    if (isConstant(rewardsG)) return rewardsG.map(() => 0);
    const baseline = mean(rewardsG);
    const scale = {
      equal: 1,
      'standard-deviation': 1 / (standardDeviation(rewardsG, baseline) + epsilon),
      'clip-filter': Math.min(all / withSignal, largestWeight),
    }[weight];
    return rewardsG.map((reward) => scale * (reward - baseline));
  });
};

function standardDeviation(values: readonly number[], center: number): number {
  return Math.sqrt(mean(values.map((value) => (value - center) ** 2)));
}
