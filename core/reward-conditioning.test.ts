import { describe, expect, it } from 'vitest';
import { trajectoryAt } from '../tests/fixtures/trajectory.ts';
import { conditionedReward, conditioningMetrics, overlongPenalty } from './reward-conditioning.ts';

/** A trajectory whose responses have these many tokens. */
function ofLengths(reward: number, ...lengths: number[]) {
  const one = trajectoryAt({ iteration: 1, group: 0, sample: 0, taskId: 'task' });
  const turns = lengths.map((length) => ({
    ...one.turns[0]!,
    responseIds: new Array<number>(length).fill(1),
  }));
  return { ...one, reward, turns };
}

describe('the penalty of an overlong response', () => {
  const settings = { maxNewTokens: 20, overlong: { buffer: 4, factor: 0.5 } };

  // 16 tokens are free; from there on a quarter of the factor for each token.
  it.each([
    [0, 0],
    [16, 0],
    [17, -0.125],
    [18, -0.25],
    [20, -0.5],
    [25, -0.5],
  ])('of %d tokens is %d', (length, penalty) => {
    expect(overlongPenalty(ofLengths(1, length), settings)).toBeCloseTo(penalty, 12);
  });

  it('is that of the longest of several', () => {
    expect(overlongPenalty(ofLengths(1, 3, 18, 4), settings)).toBe(-0.25);
  });

  it('is taken off the reward before that is clipped', () => {
    expect(conditionedReward(ofLengths(1, 20), { ...settings, rewardClip: 0.4 })).toBe(0.4);
    expect(conditionedReward(ofLengths(0.2, 20), { ...settings, rewardClip: 0.4 })).toBeCloseTo(-0.3, 12);
    expect(conditionedReward(ofLengths(-9, 1), { ...settings, rewardClip: 0.4 })).toBe(-0.4);
  });
});

it('nothing is done, and nothing measured, that the recipe does not ask for', () => {
  const one = ofLengths(7, 20);
  expect(conditionedReward(one, { maxNewTokens: 20 })).toBe(7);
  expect(conditioningMetrics([one], { maxNewTokens: 20 })).toEqual({});
});

it('measures the mean penalty and the share of clipped rewards', () => {
  const settings = { maxNewTokens: 20, overlong: { buffer: 4, factor: 1 }, rewardClip: 1.5 };
  expect(conditioningMetrics([ofLengths(2, 16), ofLengths(2, 20)], settings)).toEqual({
    'reward/overlong_penalty': -0.5,
    'reward/clipped_share': 0.5,
  });
});
