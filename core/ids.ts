/**
 * Names of runs and business keys. A key says what a result is (run, iteration, phase, shard), never who computed it:
 * no Temporal run id, activity id or attempt number may enter one.
 */
export const runIdPattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

export const workflowIds = {
  train: (run: string) => `train-${run}`,
  iteration: (run: string, iteration: number) => `train-${run}-it-${iteration}`,
  warmStart: (run: string, chunk: number) => `train-${run}-warm-start-${chunk}`,
  evaluation: (run: string, version: number) => `train-${run}-eval-${version}`,
  rolloutGroup: (run: string, iteration: number, shard: number) =>
    `train-${run}-it-${iteration}-rollout-${shard}`,
  episode: (run: string, iteration: number, group: number, sample: number) =>
    `train-${run}-it-${iteration}-episode-${group}-${sample}`,
} as const;

/** Business keys of memoised results, each relative to its run. */
export const keys = {
  opening: () => 'opening',
  batch: (iteration: number) => `iteration-${pad(iteration)}/batch`,
  shard: (iteration: number, shard: number) => `iteration-${pad(iteration)}/rollout-${pad(shard, 4)}`,
  segment: (shardKey: string, segment: number) => `${shardKey}/segment-${pad(segment, 4)}`,
  begun: (segmentKey: string) => `${segmentKey}/begun`,
  episode,
  environmentOpening: (iteration: number, group: number, sample: number) =>
    `${episode(iteration, group, sample)}/opening`,
  turn: (iteration: number, group: number, sample: number, turn: number) =>
    `${episode(iteration, group, sample)}/turn-${pad(turn, 4)}`,
  environmentStep: (iteration: number, group: number, sample: number, turn: number) =>
    `${episode(iteration, group, sample)}/step-${pad(turn, 4)}`,
  /** `version` is the one that the iteration is to make: another, if its parent was rolled back meanwhile. */
  shapedRewards: (iteration: number, version: number) =>
    `iteration-${pad(iteration)}/rewards-${pad(version)}`,
  candidate: (iteration: number, version: number) => `iteration-${pad(iteration)}/candidate-${pad(version)}`,
  warmStart: (chunk: number) => `warm-start-${pad(chunk)}/candidate`,
  evaluationShard: (version: number, shard: number) =>
    `evaluation/version-${pad(version)}/rollout-${pad(shard, 4)}`,
  evaluationEpisode: (version: number, group: number) =>
    `evaluation/version-${pad(version)}/episode-${pad(group)}`,
  evaluation: (version: number) => `evaluation/version-${pad(version)}/summary`,
} as const;

function episode(iteration: number, group: number, sample: number): string {
  return `iteration-${pad(iteration)}/episode-${pad(group)}-${pad(sample, 4)}`;
}

function pad(n: number, width = 6): string {
  return String(n).padStart(width, '0');
}

export const taskQueues = {
  control: 'rekindle-control',
  cpu: 'rekindle-cpu',
  env: 'rekindle-env',
  rollout: 'rekindle-rollout',
  train: 'rekindle-train',
} as const;
/** The queue of one host's (or device's) worker of a pool; its name outlives the process. */
export function hostQueue(pool: 'rollout' | 'env', host: string): string {
  return `${taskQueues[pool]}-${host}`;
}
export type Pool = keyof typeof taskQueues;
export const pools = Object.keys(taskQueues) as Pool[];
