/**
 * What an advantage estimator is. All groups of a batch in, an advantage for each trajectory out, in the same order: one number
 * that all its trained tokens carry, or one for each of them. An estimator with a group baseline gives exactly 0 for a constant
 * group (and so for a group of one), by comparing the rewards and not their rounded deviations from the mean.
 */

/** What estimators may read of one trajectory with N trained tokens. Rewards are finite. */
export interface ScoredTrajectory {
  /** Reward of the outcome; it is given at the last trained token. */
  reward: number;
  /** N */
  tokens: number;
  /** Rewards of single tokens beside the outcome's: a KL penalty, scores of a process reward model. */
  tokenRewardsN?: ArrayLike<number>;
  /** Values of the critic before each token (`gae`). */
  valuesN?: ArrayLike<number>;
  /** Reward of the greedy answer to the same task (`remax`). */
  baselineReward?: number;
  /** Log-probs under the policy that the update starts from (`optimal-token-baseline`, `distillation`). */
  logprobsN?: ArrayLike<number>;
  /** Sum of the squared probabilities of all tokens, at each token (`optimal-token-baseline`). */
  sumOfSquaresN?: ArrayLike<number>;
  /** Weights that correct for another sampler (`optimal-token-baseline`). */
  importanceN?: ArrayLike<number>;
  /** Log-probs under the teacher (`distillation`). */
  teacherLogprobsN?: ArrayLike<number>;
}

export type Group = readonly ScoredTrajectory[];
export type Advantage = number | Float64Array;

/** Advantages of each trajectory of each group. */
export type AdvantageEstimator<Settings = object> = (
  groups: readonly Group[],
  settings: Settings,
) => Advantage[][];

/** Estimates each group from its total rewards alone. */
export function perGroup<Settings>(
  estimate: (rewardsG: readonly number[], settings: Settings) => number[],
): AdvantageEstimator<Settings> {
  return (groups, settings) => groups.map((group) => estimate(group.map(totalReward), settings));
}

/** Reward of the outcome and of all tokens. */
export function totalReward({ reward, tokenRewardsN }: ScoredTrajectory): number {
  let total = reward;
  for (let n = 0; n < (tokenRewardsN?.length ?? 0); n++) total += tokenRewardsN![n]!;
  return total;
}

/** The reward of each token: its own, and at the last one the outcome's too. */
export function rewardsByToken({ reward, tokens, tokenRewardsN }: ScoredTrajectory): Float64Array {
  const rewardsN = Float64Array.from({ length: tokens }, (_, n) => tokenRewardsN?.[n] ?? 0);
  if (tokens > 0) rewardsN[tokens - 1]! += reward;
  return rewardsN;
}

/** Sum of the rewards from each token on, those that are k tokens later times discount^k. */
export function discountedReturns(rewardsN: Float64Array, discount: number): Float64Array {
  const returnsN = new Float64Array(rewardsN.length);
  let following = 0;
  for (let n = rewardsN.length - 1; n >= 0; n--) {
    following = rewardsN[n]! + discount * following;
    returnsN[n] = following;
  }
  return returnsN;
}
