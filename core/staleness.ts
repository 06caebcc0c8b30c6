/**
 * What becomes of trajectories by the age of their tokens. A trajectory is as old as its oldest span, counted in updates of the
 * policy that learns from it; one that has a span of a version that was rolled back from is never learned from.
 *
 * A pure function of the trajectories, the ages of versions and the recipe, so that an audit can judge anew.
 */
import { mean } from './advantage/statistics.ts';
import type { Metrics, Trajectory } from './records.ts';
import { isLearnable } from './rows.ts';
import type { Scheduling } from './scheduling.ts';

export const dropReasons = { stale: 'stale', rolledBack: 'rolled-back', straggler: 'straggler' } as const;

export interface Judged {
  /** As they came, but for those that are dropped now. */
  trajectories: Trajectory[];
  /** `<group>/<sample>` of over-stale trajectories that are learned from with importance weights. */
  corrected: ReadonlySet<string>;
  metrics: Metrics;
}

/** The oldest version that sampled a token of any of them; undefined when no token was sampled. */
export function oldestVersion(trajectories: readonly Trajectory[]): number | undefined {
  let oldest: number | undefined;
  for (const version of versionsOf(trajectories)) oldest = Math.min(oldest ?? version, version);
  return oldest;
}

/** `ages` as from `agesSeenFrom`, down to the oldest version of the trajectories. */
export function judgeStaleness(
  trajectories: readonly Trajectory[],
  ages: ReadonlyMap<number, number>,
  { maxStaleness, overStale }: Pick<Scheduling, 'maxStaleness' | 'overStale'>,
): Judged {
  const corrected = new Set<string>();
  const learnedAges: number[] = [];
  const dropped = { [dropReasons.stale]: 0, [dropReasons.rolledBack]: 0 };
  const judge = (trajectory: Trajectory): Trajectory => {
    if (!isLearnable(trajectory.outcome)) return trajectory;
    const age = ageOf(trajectory, ages);
    const reason = age === undefined ? dropReasons.rolledBack : dropReasons.stale;
    if (age === undefined || (age > maxStaleness && overStale === 'drop')) {
      dropped[reason] += 1;
      return { ...trajectory, outcome: 'dropped', reason };
    }
    learnedAges.push(age);
    if (age > maxStaleness) corrected.add(placeOf(trajectory));
    return trajectory;
  };
  return {
    trajectories: trajectories.map(judge),
    corrected,
    metrics: {
      ...(learnedAges.length > 0 && {
        'staleness/mean': mean(learnedAges),
        'staleness/max': learnedAges.reduce((a, b) => Math.max(a, b)),
      }),
      'staleness/dropped': dropped[dropReasons.stale],
      'staleness/rolled_back': dropped[dropReasons.rolledBack],
      'staleness/corrected': corrected.size,
      'rollout/interrupted': count(trajectories, ({ turns }) => turns.some(({ spans }) => spans.length > 1)),
      'rollout/stragglers_dropped': count(trajectories, ({ reason }) => reason === dropReasons.straggler),
    },
  };
}

/** The age of its oldest span; undefined when one of its versions is no ancestor. */
function ageOf({ turns }: Trajectory, ages: ReadonlyMap<number, number>): number | undefined {
  let oldest = 0;
  for (const { spans } of turns) {
    for (const { version } of spans) {
      const age = ages.get(version);
      if (age === undefined) return undefined;
      oldest = Math.max(oldest, age);
    }
  }
  return oldest;
}

export function placeOf({ group, sample }: Pick<Trajectory, 'group' | 'sample'>): string {
  return `${group}/${sample}`;
}

function* versionsOf(trajectories: readonly Trajectory[]): Generator<number> {
  for (const { turns } of trajectories)
    for (const { spans } of turns) for (const { version } of spans) yield version;
}

function count(trajectories: readonly Trajectory[], has: (trajectory: Trajectory) => boolean): number {
  return trajectories.reduce((sum, trajectory) => sum + Number(has(trajectory)), 0);
}
