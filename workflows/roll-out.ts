/** The rollout of an iteration, shard by shard: each an activity, or a window of episodes that are workflows of their own. */
import { executeChild } from '@temporalio/workflow';
import type { PrepareBatchResult, RolloutShardResult } from '../core/contracts.ts';
import { opensProgram } from '../core/environments.ts';
import { workflowIds } from '../core/ids.ts';
import { cpu, rollout } from './activities.ts';
import { episode } from './episode.ts';
import { inWindow } from './in-window.ts';
import type { TrainIterationInput } from './train-iteration-input.ts';

/** In flight at a time in one workflow: well under the server's limits of 2,000 pending activities and as many children. */
const shardWindow = 500;
const episodeWindow = 200;

interface Shard {
  shard: number;
  firstGroup: number;
  groups: number;
}

export async function rollOut(
  input: TrainIterationInput,
  batch: PrepareBatchResult,
  onShard: () => void,
): Promise<RolloutShardResult[]> {
  const { durability, groupSize, tasksPerShard = batch.tasks } = input.recipe.rollout;
  const [roll, window] =
    durability === 'shard'
      ? [shardActivity, shardWindow]
      : [shardOfEpisodes, Math.ceil(episodeWindow / (tasksPerShard * groupSize))];
  const shards = shardsOf(batch.tasks, tasksPerShard);
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

export function shardsOf(tasks: number, tasksPerShard: number): Shard[] {
  return Array.from({ length: Math.ceil(tasks / tasksPerShard) }, (_, shard) => ({
    shard,
    firstGroup: shard * tasksPerShard,
    groups: Math.min(tasksPerShard, tasks - shard * tasksPerShard),
  }));
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

async function shardOfEpisodes(
  input: TrainIterationInput,
  { batch, hyperparameters }: PrepareBatchResult,
  shard: Shard,
): Promise<RolloutShardResult> {
  const { run, iteration, policy, recipe } = input;
  const { heartbeatSeconds } = recipe.schedule;
  const { groupSize } = recipe.rollout;
  const startedAt = new Date().toISOString();
  await inWindow(shard.groups * groupSize, episodeWindow, (i) => {
    const group = shard.firstGroup + Math.floor(i / groupSize);
    const sample = i % groupSize;
    return executeChild(episode, {
      workflowId: workflowIds.episode(run, iteration, group, sample),
      staticSummary: `task ${group}, sample ${sample}`,
      args: [
        {
          episode: {
            run,
            iteration,
            group,
            sample,
            batch,
            version: policy.version,
            weights: policy.weights,
            hyperparameters,
          },
          heartbeatSeconds,
          opensProgram: opensProgram(recipe),
        },
      ],
    });
  });
  return cpu(heartbeatSeconds).collectEpisodes({ run, iteration, ...shard, batch, startedAt });
}
