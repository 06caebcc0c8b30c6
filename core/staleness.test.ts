import fc from 'fast-check';
import { expect, it } from 'vitest';
import { trajectoryAt } from '../tests/fixtures/trajectory.ts';
import type { Span, Trajectory } from './records.ts';
import { judgeStaleness, oldestVersion } from './staleness.ts';

function sampledBy(sample: number, ...spans: Span[]): Trajectory {
  const trajectory = trajectoryAt({ iteration: 1, group: 0, sample, taskId: 'task' });
  return { ...trajectory, turns: trajectory.turns.map((turn) => ({ ...turn, spans })) };
}
const span = (version: number): Span => ({ version, tokens: 1 });

/** Seen from version 9: 8 was rolled back from. */
const ages = new Map([
  [9, 0],
  [7, 1],
  [6, 2],
  [5, 3],
]);
const drop = { maxStaleness: 1, overStale: 'drop' as const };

it('a trajectory is as old as its oldest span: over the bound it is dropped, or corrected', () => {
  const fresh = sampledBy(0, span(7), span(9));
  const stale = sampledBy(1, span(6), span(9));
  const dropped = judgeStaleness([fresh, stale], ages, drop);
  expect(dropped.trajectories).toEqual([fresh, { ...stale, outcome: 'dropped', reason: 'stale' }]);
  expect(dropped.metrics).toMatchObject({
    'staleness/max': 1,
    'staleness/dropped': 1,
    'staleness/corrected': 0,
  });

  const corrected = judgeStaleness([fresh, stale], ages, { ...drop, overStale: 'correct' });
  expect(corrected.trajectories).toEqual([fresh, stale]);
  expect([...corrected.corrected]).toEqual(['0/1']);
  expect(corrected.metrics).toMatchObject({
    ...{ 'staleness/mean': 1.5, 'staleness/max': 2, 'staleness/corrected': 1, 'rollout/interrupted': 2 },
  });
});

it('what a version sampled that was rolled back from is dropped, whatever its age', () => {
  const { trajectories, metrics } = judgeStaleness([sampledBy(0, span(8), span(9))], ages, {
    maxStaleness: 9,
    overStale: 'correct',
  });
  expect(trajectories[0]).toMatchObject({ outcome: 'dropped', reason: 'rolled-back' });
  expect(metrics['staleness/rolled_back']).toBe(1);
});

it('nothing is lost: whatever is not learned from says why, and what was lost before keeps its reason', () => {
  const trajectories = fc.array(
    fc.record({
      versions: fc.array(fc.constantFrom(5, 6, 7, 8, 9), { minLength: 1, maxLength: 3 }),
      lost: fc.boolean(),
    }),
  );
  const settings = fc.record({ maxStaleness: fc.nat(4), overStale: fc.constantFrom('drop', 'correct') });
  fc.assert(
    fc.property(trajectories, settings, (given, { maxStaleness, overStale }) => {
      const before = given.map(({ versions, lost }, i): Trajectory => ({
        ...sampledBy(i, ...versions.map(span)),
        ...(lost && { outcome: 'dropped', reason: 'straggler' }),
      }));
      const judged = judgeStaleness(before, ages, { maxStaleness, overStale });
      expect(judged.trajectories).toHaveLength(before.length);
      judged.trajectories.forEach((after, i) => {
        if (given[i]!.lost) expect(after).toBe(before[i]);
        else if (after.outcome === 'dropped') expect(['stale', 'rolled-back']).toContain(after.reason);
        else expect(after).toBe(before[i]);
      });
      const said = judged.metrics['staleness/dropped']! + judged.metrics['staleness/rolled_back']!;
      const dropped = judged.trajectories.filter(({ outcome }) => outcome === 'dropped').length;
      expect(said + judged.metrics['rollout/stragglers_dropped']!).toBe(dropped);
    }),
  );
});

it('the oldest version is that of any span', () => {
  expect(oldestVersion([])).toBeUndefined();
  expect(oldestVersion([sampledBy(0, span(7)), sampledBy(1, span(9), span(6))])).toBe(6);
});
