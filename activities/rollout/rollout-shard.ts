/**
 * Rolls out one shard: every (group, sample) of its groups once. Finished trajectories are persisted as they come, so a retry
 * plays only what is missing; since a sample's tokens depend on its coordinates alone, who generates them does not matter.
 *
 * A shard may be played in segments: what one leaves unfinished when its time is up, the next goes on with.
 */
import {
  rolloutShardInputSchema,
  rolloutShardResultSchema,
  type RolloutShardInput,
  type RolloutShardResult,
} from '../../core/contracts.ts';
import { keys } from '../../core/ids.ts';
import { placeOf } from '../../core/staleness.ts';
import { memoiseClaimed } from '../../store/memo.ts';
import { openShardParts } from '../../store/shard-parts.ts';
import { readTasks } from '../data/batches.ts';
import { defineActivity } from '../define-activity.ts';
import { provenance } from '../execution.ts';
import { openedRun } from '../run/opening.ts';
import type { RolloutActivities } from '../interface.ts';
import type { Services } from '../services.ts';
import { readBegun, recordBegun } from './begun-episodes.ts';
import { playEpisodes } from './play-episodes.ts';
import { summarizeShard } from './summarize-shard.ts';

export function rolloutShard(services: Services): RolloutActivities['rolloutShard'] {
  return defineActivity('rolloutShard', rolloutShardInputSchema, rolloutShardResultSchema, (input) =>
    memoiseClaimed(
      services.store,
      input.run,
      segmentKey(input),
      rolloutShardResultSchema,
      provenance(),
      (store) => rollOut({ ...services, store }, input),
    ),
  );
}

function shardKey(input: RolloutShardInput): string {
  return input.purpose === 'training'
    ? keys.shard(input.iteration, input.shard)
    : keys.evaluationShard(input.version, input.shard);
}

function segmentKey(input: RolloutShardInput, segment = input.segment): string {
  return segment === 0 ? shardKey(input) : keys.segment(shardKey(input), segment);
}

async function rollOut(services: Services, input: RolloutShardInput): Promise<RolloutShardResult> {
  const startedAt = Date.now();
  const { store } = services;
  const opened = await openedRun(store, input.run);
  const tasks = await readTasks(store, input.batch, input.firstGroup, input.groups);
  const samples = input.purpose === 'training' ? opened.recipe.rollout.groupSize : 1;
  const parts = openShardParts(store, input.run, shardKey(input), provenance());
  const finished = await parts.finished();
  const done = new Set(finished.map(placeOf));
  const missing = tasks.flatMap((task, i) => {
    const group = input.firstGroup + i;
    return range(samples)
      .filter((sample) => !done.has(placeOf({ group, sample })))
      .map((sample) => ({ task, group, sample }));
  });
  if (missing.length > 0) {
    const begun =
      input.segment === 0 ? [] : await readBegun(store, input.run, segmentKey(input, input.segment - 1));
    const unfinished = await playEpisodes(services, opened, input, { missing, begun, parts });
    await recordBegun(store, input.run, segmentKey(input), unfinished, provenance());
  }
  const trajectories = await parts.finished();
  const seconds = (Date.now() - startedAt) / 1000;
  return {
    ...summarizeShard(trajectories, await parts.refs(), seconds),
    unfinished: tasks.length * samples - trajectories.length,
  };
}

function range(length: number): number[] {
  return Array.from({ length }, (_, i) => i);
}
