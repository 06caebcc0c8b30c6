/** Counts over the trajectories of a shard. */
import type { RolloutShardResult } from '../../core/contracts.ts';
import type { Trajectory } from '../../core/records.ts';
import type { Ref } from '../../core/refs.ts';

export function summarizeShard(
  trajectories: Trajectory[],
  parts: Ref[],
  seconds: number,
): RolloutShardResult {
  const outcomes: RolloutShardResult['outcomes'] = {};
  let generatedTokens = 0;
  let rewardSum = 0;
  for (const trajectory of trajectories) {
    outcomes[trajectory.outcome] = (outcomes[trajectory.outcome] ?? 0) + 1;
    for (const turn of trajectory.turns) generatedTokens += turn.responseIds.length;
    rewardSum += trajectory.reward;
  }
  return {
    trajectories: parts,
    episodes: trajectories.length,
    outcomes,
    generatedTokens,
    rewardSum,
    seconds,
    unfinished: 0,
  };
}
