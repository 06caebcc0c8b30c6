/** The rollout of an iteration, shard by shard: each an activity, or a window of episodes that are workflows of their own. */
import { executeChild } from '@temporalio/workflow';
import type { PrepareBatchResult, RolloutShardResult } from '../core/contracts.ts';
import { opensProgram } from '../core/environments.ts';
import { workflowIds } from '../core/ids.ts';
import { shardsOf, tasksOfShard, type Shard } from '../core/sharding.ts';
import { rollout } from './activities.ts';
import { inWindow } from './in-window.ts';
import { rolloutGroup } from './rollout-group.ts';
import type { TrainIterationInput } from './train-iteration-input.ts';

/** In flight at a time in one workflow: well under the server's limits of 2,000 pending activities and as many children. */
const shardWindow = 500;
/** Episodes in flight in all groups of an iteration; control workers hold about as many workflows in memory. */
const episodeWindow = 1000;

export async function rollOut(
  input: TrainIterationInput,
  batch: PrepareBatchResult,
  onShard: () => void,
): Promise<RolloutShardResult[]> {
  const { durability, groupSize } = input.recipe.rollout;
  const tasks = tasksOfShard(input.recipe, batch.tasks);
  const [roll, window] =
    durability === 'shard'
      ? [shardActivity, shardWindow]
      : [shardOfEpisodes, Math.ceil(episodeWindow / (tasks * groupSize))];
  const shards = shardsOf(batch.tasks, tasks);
  return inWindow(shards.length, window, async (i) => {
    const result = await roll(input, batch, shards[i]!);
    onShard();
    return result;
  });
}

/** Rolls out shards of an evaluation. */
export function evaluateShards(
  shards: Shard[],
  roll: (shard: Shard) => Promise<RolloutShardResult>,
): Promise<RolloutShardResult[]> {
  return inWindow(shards.length, shardWindow, (i) => roll(shards[i]!));
}

/** What is late in one activity goes on in another, on whatever worker has room. */
async function shardActivity(
  input: TrainIterationInput,
  batch: PrepareBatchResult,
  shard: Shard,
): Promise<RolloutShardResult> {
  const { run, iteration, policy, recipe } = input;
  for (let segment = 0; ; segment++) {
    const result = await rollout(recipe.schedule.heartbeatSeconds).rolloutShard({
      run,
      iteration,
      purpose: 'training',
      ...shard,
      segment,
      batch: batch.batch,
      version: policy.version,
      weights: policy.weights,
      hyperparameters: batch.hyperparameters,
    });
    if (result.unfinished === 0) return result;
  }
}

function shardOfEpisodes(
  input: TrainIterationInput,
  { batch, hyperparameters }: PrepareBatchResult,
  shard: Shard,
): Promise<RolloutShardResult> {
  const { run, iteration, policy, recipe } = input;
  const { heartbeatSeconds, hostSeconds } = recipe.schedule;
  return executeChild(rolloutGroup, {
    workflowId: workflowIds.rolloutGroup(run, iteration, shard.shard),
    staticSummary: `shard ${shard.shard}: tasks ${shard.firstGroup} to ${shard.firstGroup + shard.groups - 1}`,
    args: [
      {
        shard,
        groupSize: recipe.rollout.groupSize,
        common: {
          ...{ run, iteration, batch, hyperparameters },
          ...{ version: policy.version, weights: policy.weights },
        },
        ...{ heartbeatSeconds, hostSeconds, opensProgram: opensProgram(recipe) },
      },
    ],
  });
}
