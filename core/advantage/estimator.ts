/**
 * What an advantage estimator is. One group's rewards in, one advantage a trajectory out, in the same order; every trained
 * token of a trajectory carries its trajectory's advantage. An estimator with a group baseline gives exactly 0 for a constant
 * group (and so for a group of one), by comparing the rewards and not their rounded deviations from the mean.
 */

/** `rewardsG`: finite rewards of the G scored trajectories of one group. `epsilon`: see `AlgorithmSettings.advantageEpsilon`. */
export type AdvantageEstimator = (rewardsG: readonly number[], epsilon: number) => number[];
