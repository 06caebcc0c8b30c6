import { expect, test } from 'vitest';
import type { Span, Trajectory } from '../core/records.ts';
import { trajectoryAt } from '../tests/fixtures/trajectory.ts';
import { ageProblems } from './verify-ages.ts';

/** A trajectory of two sampled tokens. */
function sampledBy(...spans: Span[]): Trajectory {
  const trajectory = trajectoryAt({ iteration: 6, group: 1, sample: 2, taskId: 'task' });
  return { ...trajectory, turns: trajectory.turns.map((turn) => ({ ...turn, spans })) };
}

/** Seen from version 5; version 4 was rolled back from. */
const ages = new Map([
  [5, 0],
  [3, 0],
  [2, 1],
  [1, 2],
]);
const problems = (trajectory: Trajectory, lookahead: number) =>
  ageProblems([trajectory], ages, { lookahead });

test('tokens as old as the mode admits are no problem, those older are', () => {
  const trajectory = sampledBy({ version: 1, tokens: 1 }, { version: 2, tokens: 1 });
  expect(problems(trajectory, 2)).toEqual([]);
  expect(problems(trajectory, 1)).toEqual([
    '1 trajectories have tokens that are more than 1 updates old, which their mode of scheduling does not admit, ' +
      'the first is group 1, sample 2',
  ]);
});

test('a version that was rolled back from has no age', () => {
  expect(problems(sampledBy({ version: 4, tokens: 2 }), 0)).toEqual([]);
});

test('spans that leave out tokens, and versions that go back, are found', () => {
  expect(problems(sampledBy({ version: 5, tokens: 1 }), 0)).toEqual([
    '1 trajectories have spans that do not cover their sampled tokens, the first is group 1, sample 2',
  ]);
  expect(problems(sampledBy({ version: 5, tokens: 1 }, { version: 3, tokens: 1 }), 0)).toEqual([
    '1 trajectories went on with an older version, the first is group 1, sample 2',
  ]);
});
