import { discountedReturns, rewardsByToken, type AdvantageEstimator } from './estimator.ts';

/**
 * REINFORCE without a baseline (Williams, "Simple statistical gradient-following algorithms", 1992): the advantage of a token is the
 * discounted sum of the rewards from it on. Whitened over the batch it is that of REINFORCE++ (arXiv 2501.03262, equations 5 to
 * 7). With discount 1 and no rewards of single tokens, every token has the outcome's.
 */
export const reinforce: AdvantageEstimator<{ discount: number }> = (groups, { discount }) =>
  groups.map((group) =>
    group.map((member) =>
      member.tokenRewardsN === undefined && discount === 1
        ? member.reward
        : discountedReturns(rewardsByToken(member), discount),
    ),
  );
