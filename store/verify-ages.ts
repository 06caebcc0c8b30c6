/** What can be wrong with the policy versions that sampled the trajectories of an iteration. */
import type { Trajectory } from '../core/records.ts';
import type { Scheduling } from '../core/scheduling.ts';

/**
 * Spans cover the sampled tokens, their versions never go back, and none is older than was admitted. `ages` are seen from the
 * policy that learned; a version without one was rolled back from.
 */
export function ageProblems(
  trajectories: readonly Trajectory[],
  ages: ReadonlyMap<number, number>,
  { lookahead }: Pick<Scheduling, 'lookahead'>,
): string[] {
  return [
    ...offenders(trajectories, 'have spans that do not cover their sampled tokens', ({ turns }) =>
      turns.some(
        ({ spans, responseIds }) => spans.reduce((sum, { tokens }) => sum + tokens, 0) !== responseIds.length,
      ),
    ),
    ...offenders(trajectories, 'went on with an older version', ({ turns }) =>
      turns.flatMap(({ spans }) => spans).some(({ version }, i, all) => version < (all[i - 1]?.version ?? 0)),
    ),
    ...offenders(
      trajectories,
      `have tokens that are more than ${lookahead} updates old, which their mode of scheduling does not admit`,
      ({ turns }) =>
        turns.some(({ spans }) => spans.some(({ version }) => (ages.get(version) ?? 0) > lookahead)),
    ),
  ];
}

/** One sentence on the trajectories that offend, if any do. */
export function offenders(
  trajectories: readonly Trajectory[],
  complaint: string,
  offends: (trajectory: Trajectory) => boolean,
): string[] {
  const found = trajectories.filter(offends);
  if (found.length === 0) return [];
  const { group, sample } = found[0]!;
  return [`${found.length} trajectories ${complaint}, the first is group ${group}, sample ${sample}`];
}
