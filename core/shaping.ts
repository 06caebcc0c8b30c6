/**
 * The trajectories of a batch, in any order, to training rows in (group, sample) order. A pure function of the set of
 * trajectories: shards and retries change nothing. Trajectories that failed for reasons of infrastructure, or were dropped,
 * enter no mean and no advantage; their group is made up of the others.
 */
import type { Advantage, ScoredTrajectory } from './advantage/estimator.ts';
import { estimateAdvantages } from './advantage/index.ts';
import { isConstant } from './advantage/statistics.ts';
import { whiten } from './advantage/whiten.ts';
import type { AlgorithmSettings } from './algorithm.ts';
import { batchMetrics } from './batch-metrics.ts';
import { RekindleError } from './errors.ts';
import type { Metrics, Outcome, Row, Trajectory } from './records.ts';
import { conditionedReward, conditioningMetrics, type ConditioningSettings } from './reward-conditioning.ts';
import { isLearnable, rowOf } from './rows.ts';

export interface ShapedBatch {
  /** Rows with their advantage, in (group, sample) order; empty when nothing carries signal. */
  rows: Row[];
  metrics: Metrics;
  /** How many trajectories ended how. */
  outcomes: Partial<Record<Outcome, number>>;
}

export type ShapingSettings = ConditioningSettings &
  Pick<AlgorithmSettings, 'advantage' | 'whitenAdvantages' | 'dropTruncated' | 'dropZeroVarianceGroups'>;

/**
 * Advantages, rows and metrics of one iteration's trajectories.
 *
 * With `dropZeroVarianceGroups` a group all of whose advantages are 0 gives no rows. For estimators with a baseline these are
 * the groups of equal rewards; `reinforce` keeps a group of equal rewards unless they are 0, since it learns from it.
 *
 * Rewards are conditioned before anything is estimated from them. Whitening comes last, over the groups that are left; a truncated
 * trajectory that `dropTruncated` leaves out counts in both.
 *
 * Throws DataError, naming group and sample, if a reward is not finite or a (group, sample) occurs twice.
 */
export function shapeBatch(trajectories: readonly Trajectory[], settings: ShapingSettings): ShapedBatch {
  const groups = groupsOf(trajectories)
    .map((members) => members.filter((member) => isLearnable(member.outcome)))
    .filter((members) => members.length > 0);
  groups.flat().forEach(requireFiniteRewards);
  const scored = groups.map((members) => members.map((member) => scoredTrajectory(member, settings)));
  const estimated = estimateAdvantages(scored, settings.advantage);
  const kept = groups.flatMap((_, g) =>
    settings.dropZeroVarianceGroups && estimated[g]!.every(isZero) ? [] : [g],
  );
  const advantages = kept.map((g) => estimated[g]!);
  const used = settings.whitenAdvantages
    ? whiten(
        advantages,
        kept.map((g) => scored[g]!),
      )
    : advantages;

  const rows = kept.flatMap((g, k) =>
    groups[g]!.flatMap((member, i) => {
      if (settings.dropTruncated && member.outcome === 'truncated') return [];
      return rowOf(member, requireFiniteAdvantage(used[k]![i]!, member)) ?? [];
    }),
  );
  const constantGroups = groups.filter((members) => isConstant(members.map(({ reward }) => reward))).length;
  return {
    rows,
    metrics: {
      ...batchMetrics(trajectories, rows, { groups: groups.length, constantGroups }),
      ...conditioningMetrics(groups.flat(), settings),
    },
    outcomes: countOutcomes(trajectories),
  };
}

function scoredTrajectory(trajectory: Trajectory, settings: ShapingSettings): ScoredTrajectory {
  const { turns } = trajectory;
  return {
    reward: conditionedReward(trajectory, settings),
    tokens: turns.reduce((sum, { responseIds }) => sum + responseIds.length, 0),
  };
}

function isZero(advantage: Advantage): boolean {
  return typeof advantage === 'number' ? advantage === 0 : advantage.every((value) => value === 0);
}

/** The members of each group, groups and members in ascending order. */
function groupsOf(trajectories: readonly Trajectory[]): Trajectory[][] {
  const ordered = [...trajectories].sort((a, b) => a.group - b.group || a.sample - b.sample);
  const groups: Trajectory[][] = [];
  let previous: Trajectory | undefined;
  for (const trajectory of ordered) {
    if (previous?.group !== trajectory.group) groups.push([]);
    else if (previous.sample === trajectory.sample) {
      throw new RekindleError(
        'DataError',
        `trajectories: ${place(trajectory)} occurs twice, expected each sample once`,
        { hint: 'Give every trajectory part of the iteration once; parts of two shards may overlap.' },
      );
    }
    groups.at(-1)!.push(trajectory);
    previous = trajectory;
  }
  return groups;
}

function requireFiniteRewards(trajectory: Trajectory): void {
  requireFinite(trajectory.reward, 'reward', trajectory);
  for (const source in trajectory.rewards) requireFinite(trajectory.rewards[source]!, source, trajectory);
}

function requireFinite(value: number, name: string, trajectory: Trajectory): void {
  if (Number.isFinite(value)) return;
  throw new RekindleError(
    'DataError',
    `trajectories: ${name} of ${place(trajectory)} is ${value}, expected a finite number`,
    { hint: 'Correct the reward function: it must give a finite number for every response.' },
  );
}

function requireFiniteAdvantage(advantage: Advantage, member: Trajectory): Row['advantage'] {
  const values = typeof advantage === 'number' ? [advantage] : Array.from(advantage);
  const wrong = values.find((value) => !Number.isFinite(value));
  if (wrong === undefined) return typeof advantage === 'number' ? advantage : values;
  throw new RekindleError(
    'DataError',
    `trajectories: the advantage of ${place(member)} is ${wrong}, since rewards of its group are too large (its own: ${member.reward})`,
    { hint: 'Scale the rewards down: their sum over a group must be a finite 64-bit number.' },
  );
}

function place({ group, sample, taskId }: Trajectory): string {
  return `group ${group}, sample ${sample} (task ${taskId})`;
}

function countOutcomes(trajectories: readonly Trajectory[]): Partial<Record<Outcome, number>> {
  const counts: Partial<Record<Outcome, number>> = {};
  for (const { outcome } of trajectories) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
