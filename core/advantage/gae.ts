import { RekindleError } from '../errors.ts';
import { rewardsByToken, type AdvantageEstimator, type ScoredTrajectory } from './estimator.ts';

export interface GaeSettings {
  discount: number;
  lambda: number;
}

/**
 * Generalized advantage estimation (arXiv 1506.02438, equation 16): with the critic's value V_n before token n, and 0 after the last,
 *
 *   delta_n = r_n + discount * V_{n+1} - V_n,    A_n = delta_n + discount * lambda * A_{n+1}
 *
 * Tokens that were not sampled (observations between turns) are no steps: the token before them leads to the one after them.
 */
export const gae: AdvantageEstimator<GaeSettings> = (groups, settings) =>
  groups.map((group) => group.map((member) => advantagesOf(member, settings)));

/** What the critic's values should be: A_n + V_n, with advantages that are not whitened. */
export function returnsOf(member: ScoredTrajectory, settings: GaeSettings): Float64Array {
  return advantagesOf(member, settings).map((advantage, n) => advantage + member.valuesN![n]!);
}

function advantagesOf(member: ScoredTrajectory, { discount, lambda }: GaeSettings): Float64Array {
  const { valuesN, tokens } = member;
  if (valuesN?.length !== tokens) {
    throw new RekindleError(
      'DataError',
      `gae: a trajectory of ${tokens} trained tokens has ${valuesN?.length ?? 'no'} values, expected one for each token`,
    );
  }
  const rewardsN = rewardsByToken(member);
  const advantagesN = new Float64Array(tokens);
  let advantage = 0;
  for (let n = tokens - 1; n >= 0; n--) {
    const next = n + 1 < tokens ? valuesN[n + 1]! : 0;
    advantage = rewardsN[n]! + discount * next - valuesN[n]! + discount * lambda * advantage;
    advantagesN[n] = advantage;
  }
  return advantagesN;
}
