/** What a batch of trajectories says about the policy: the metrics of shaping, named as in metric-names.ts. */
import { mean, sampleStandardDeviation } from './advantage/statistics.ts';
import type { Metrics, Outcome, Row, Trajectory } from './records.ts';
import { isLearnable } from './rows.ts';

/**
 * Metrics of one iteration's trajectories and the rows made of them. Means over nothing are left out, never NaN.
 * Rewards and lengths are over scored trajectories; shares of outcomes over all.
 */
export function batchMetrics(
  trajectories: readonly Trajectory[],
  rows: readonly Row[],
  groups: { groups: number; constantGroups: number },
): Metrics {
  const scored = trajectories.filter((trajectory) => isLearnable(trajectory.outcome));
  const metrics: Metrics = {
    ...summary(
      'reward',
      scored.map((trajectory) => trajectory.reward),
    ),
    ...rewardsBySource(scored),
    ...summary('response_length', scored.map(sampledTokens)),
    'groups/count': groups.groups,
    ...(groups.groups > 0 && { 'groups/zero_variance_share': groups.constantGroups / groups.groups }),
    ...outcomeShares(trajectories),
    ...summary(
      'advantage',
      rows.flatMap((row) => row.advantage),
    ),
    'batch/trajectories': trajectories.length,
    'batch/rows': rows.length,
    'batch/trained_tokens': rows.reduce((sum, row) => sum + trainedTokens(row), 0),
  };
  return metrics;
}

function summary(name: string, values: readonly number[]): Metrics {
  if (values.length === 0) return {};
  return {
    [`${name}/mean`]: mean(values),
    [`${name}/std`]: sampleStandardDeviation(values),
    [`${name}/min`]: values.reduce((a, b) => Math.min(a, b)),
    [`${name}/max`]: values.reduce((a, b) => Math.max(a, b)),
  };
}

/** `reward/<source>/mean`, over the trajectories that carry the source. */
function rewardsBySource(scored: readonly Trajectory[]): Metrics {
  const bySource = new Map<string, number[]>();
  for (const { rewards } of scored) {
    for (const source in rewards) {
      const values = bySource.get(source);
      if (values) values.push(rewards[source]!);
      else bySource.set(source, [rewards[source]!]);
    }
  }
  return Object.fromEntries([...bySource].map(([source, values]) => [`reward/${source}/mean`, mean(values)]));
}

function outcomeShares(trajectories: readonly Trajectory[]): Metrics {
  if (trajectories.length === 0) return {};
  const share = (outcome: Outcome) =>
    trajectories.reduce((count, trajectory) => count + Number(trajectory.outcome === outcome), 0) /
    trajectories.length;
  return {
    'outcomes/truncated_share': share('truncated'),
    'outcomes/failed_share': share('failed'),
    'outcomes/infra_failed_share': share('infra-failed'),
    'outcomes/dropped_share': share('dropped'),
  };
}

function sampledTokens({ turns }: Trajectory): number {
  let tokens = 0;
  for (const turn of turns) tokens += turn.responseIds.length;
  return tokens;
}

/** How many tokens of a row are trained. */
export function trainedTokens(row: Pick<Row, 'trained'>): number {
  let tokens = 0;
  for (const trained of row.trained) tokens += trained;
  return tokens;
}
