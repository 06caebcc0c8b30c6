import { perGroup } from './estimator.ts';
import { isConstant, sampleStandardDeviation } from './statistics.ts';

/**
 * Pass@k by the best of the group (arXiv 2503.19595, section 3, with k the size of the group): the only trajectory with an
 * advantage is the best one, and it gets what the group would lose without it, A = (r_best - r_second) / (std(r) + epsilon).
 */
export const grpoPassAtK = perGroup((rewardsG, { epsilon }: { epsilon: number }) => {
  if (isConstant(rewardsG)) return rewardsG.map(() => 0);
  const [best, second] = [...rewardsG].sort((a, b) => b - a);
  const advantage = (best! - second!) / (sampleStandardDeviation(rewardsG) + epsilon);
  const winner = rewardsG.indexOf(best!);
  return rewardsG.map((_, i) => (i === winner ? advantage : 0));
});
