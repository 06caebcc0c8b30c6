import { RekindleError } from '../errors.ts';
import { discountedReturns, rewardsByToken, type AdvantageEstimator } from './estimator.ts';

/**
 * ReMax (arXiv 2310.10505, equation 4): A = return - reward of the policy's own greedy answer to the same task. With rewards of
 * single tokens, the return of a token is the sum of the rewards from it on.
 */
export const remax: AdvantageEstimator = (groups) =>
  groups.map((group) =>
    group.map((member) => {
      const baseline = member.baselineReward;
      if (baseline === undefined) {
        throw new RekindleError('DataError', 'remax: a trajectory has no reward of a greedy answer');
      }
      if (member.tokenRewardsN === undefined) return member.reward - baseline;
      return discountedReturns(rewardsByToken(member), 1).map((value) => value - baseline);
    }),
  );
