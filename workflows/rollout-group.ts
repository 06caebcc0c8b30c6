/**
 * The episodes of a shard, each a workflow of its own, and their trajectories brought together. A parent of its own for each shard keeps the
 * histories of thousands of episodes short.
 */
import { startChild } from '@temporalio/workflow';
import type { RolloutShardResult } from '../core/contracts.ts';
import { workflowIds } from '../core/ids.ts';
import type { Shard } from '../core/sharding.ts';
import { cpu } from './activities.ts';
import { episode, type EpisodeInput } from './episode.ts';
import { inWindow } from './in-window.ts';

/** Children that are being started at a time. Each start waits for the parent's lock; many would wait for each other. */
const startWindow = 8;

export interface RolloutGroupInput extends Omit<EpisodeInput, 'episode'> {
  shard: Shard;
  groupSize: number;
  /** Of all its episodes. */
  common: Omit<EpisodeInput['episode'], 'group' | 'sample'>;
}

export async function rolloutGroup(input: RolloutGroupInput): Promise<RolloutShardResult> {
  const { shard, groupSize, common, ...settings } = input;
  const { run, iteration, batch } = common;
  const startedAt = new Date().toISOString();
  const children = await inWindow(shard.groups * groupSize, startWindow, (i) => {
    const group = shard.firstGroup + Math.floor(i / groupSize);
    const sample = i % groupSize;
    return startChild(episode, {
      workflowId: workflowIds.episode(run, iteration, group, sample),
      staticSummary: `task ${group}, sample ${sample}`,
      args: [{ ...settings, episode: { ...common, group, sample } }],
    });
  });
  await Promise.all(children.map((child) => child.result()));
  return cpu(settings.heartbeatSeconds).collectEpisodes({ run, iteration, ...shard, batch, startedAt });
}
