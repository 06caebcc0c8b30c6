import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Trajectory } from '../../core/records.ts';
import { chooseSamples, firstMiddleLast } from './samples.ts';

function trajectory(
  group: number,
  sample: number,
  reward: number,
  outcome: Trajectory['outcome'] = 'scored',
): Trajectory {
  return {
    iteration: 1,
    group,
    sample,
    taskId: `t${group}`,
    turns: [],
    response: '',
    outcome,
    rewards: {},
    reward,
  };
}

describe('chooseSamples', () => {
  it('takes the best and the worst rewarded, of different groups, best first', () => {
    const all = [0, 1, 2, 3, 4].flatMap((group) =>
      [0, 1].map((sample) => trajectory(group, sample, group + sample / 2)),
    );
    expect(chooseSamples(all, 2).map(({ group, reward }) => [group, reward])).toEqual([
      [4, 4.5],
      [3, 3.5],
      [1, 1],
      [0, 0],
    ]);
  });

  it('leaves out what an infrastructure fault ended', () => {
    expect(chooseSamples([trajectory(0, 0, 0, 'infra-failed'), trajectory(1, 0, 1)], 2)).toEqual([
      trajectory(1, 0, 1),
    ]);
  });

  it('chooses the same whatever the order in which shards finished', () => {
    const all = Array.from({ length: 12 }, (_, i) => trajectory(Math.floor(i / 2), i % 2, i % 3));
    const chosen = chooseSamples(all, 2);
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: all.length }), (shuffled) => {
        expect(chooseSamples(shuffled, 2)).toEqual(chosen);
      }),
    );
  });
});

describe('firstMiddleLast', () => {
  it('names each item once', () => {
    expect(firstMiddleLast([])).toEqual([]);
    expect(firstMiddleLast([1])).toEqual([1]);
    expect(firstMiddleLast([1, 2])).toEqual([1, 2]);
    expect(firstMiddleLast([1, 2, 3, 4, 5])).toEqual([1, 3, 5]);
  });
});
