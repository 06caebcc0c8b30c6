import { RekindleError } from '../errors.ts';
import { discountedReturns, rewardsByToken, type AdvantageEstimator, type Group } from './estimator.ts';

/** Keeps the baseline finite where no token carries any weight. */
const epsilon = 1e-8;

/**
 * The optimal token baseline (as in verl's `optimal_token_baseline`): the n-th trained tokens of a group share a baseline, the mean of their returns weighted
 * by how much gradient each trajectory has gathered up to there,
 *
 *   W_n = sum over m <= n of (1 - 2 p_m + sum over the vocabulary of p²) * importance_m²,
 *   b_n = sum over the group of G_n * W_n / sum over the group of W_n,    A_n = G_n - b_n
 *
 * with p_m the probability of token m, and G_n the sum of the rewards from token n on. Where only one trajectory is still going on, its
 * baseline is 0; so it is for a group of one.
 */
export const optimalTokenBaseline: AdvantageEstimator = (groups) => groups.map(ofGroup);

function ofGroup(group: Group): Float64Array[] {
  const returns = group.map((member) => discountedReturns(rewardsByToken(member), 1));
  const weights = group.map(gatheredGradient);
  return returns.map((returnsN) =>
    returnsN.map((value, n) => {
      const going = group.flatMap((member, i) => (member.tokens > n ? [i] : []));
      if (going.length === 1) return value;
      const weighted = going.reduce((sum, i) => sum + returns[i]![n]! * weights[i]![n]!, 0);
      return value - weighted / (going.reduce((sum, i) => sum + weights[i]![n]!, 0) + epsilon);
    }),
  );
}

function gatheredGradient({ tokens, logprobsN, sumOfSquaresN, importanceN }: Group[number]): Float64Array {
  if (logprobsN?.length !== tokens || sumOfSquaresN?.length !== tokens) {
    throw new RekindleError(
      'DataError',
      'optimal-token-baseline: a trajectory lacks log-probs or sums of squares of its trained tokens',
    );
  }
  let gathered = 0;
  return Float64Array.from({ length: tokens }, (_, n) => {
    const size = 1 - 2 * Math.exp(logprobsN[n]!) + sumOfSquaresN[n]!;
    return (gathered += size * (importanceN?.[n] ?? 1) ** 2);
  });
}
