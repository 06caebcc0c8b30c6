import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { advantageEstimators } from './index.ts';

const { grpo, rloo, reinforce, 'dr-grpo': drGrpo } = advantageEstimators;
const withBaseline = { grpo, 'dr-grpo': drGrpo, rloo };

function expectClose(actual: number[], expected: number[], digits = 9): void {
  expect(actual).toHaveLength(expected.length);
  actual.forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, digits));
}

describe('goldens', () => {
  it('agree with a group worked out by hand', () => {
    // Rewards 0, 0, 0, 1: mean 1/4, squares 3/16 + 9/16 = 3/4, unbiased std sqrt(3/4 / 3) = 1/2.
    const rewardsG = [0, 0, 0, 1];
    expectClose(grpo(rewardsG, 0.5), [-0.25, -0.25, -0.25, 0.75]);
    expectClose(drGrpo(rewardsG, 0), [-0.25, -0.25, -0.25, 0.75]);
    expectClose(rloo(rewardsG, 0), [-1 / 3, -1 / 3, -1 / 3, 1]);
    expect(reinforce(rewardsG, 0)).toEqual(rewardsG);
  });

  // Source: verl 0.9.1, compute_grpo_outcome_advantage and compute_rloo_outcome_advantage, float64; six digits.
  it('agree with verl on random rewards', () => {
    const rewardsG = [0.647213, -0.0411672, -0.177493, -0.500039];
    expectClose(grpo(rewardsG, 1e-6), [1.37602, -0.0481971, -0.330248, -0.997578], 5);
    expectClose(drGrpo(rewardsG, 0), [0.665084, -0.0232955, -0.159621, -0.482168], 5);
    expectClose(rloo(rewardsG, 0), [0.886779, -0.0310607, -0.212829, -0.64289], 5);
  });
});

describe.each(Object.entries(withBaseline))('%s', (_, estimate) => {
  const reward = fc.double({ min: -100, max: 100, noNaN: true });
  const rewards = fc.array(reward, { minLength: 1, maxLength: 16 });

  it('gives exactly 0 to a constant group, also where the mean is rounded', () => {
    // The mean of 3 times 0.1 is not 0.1 in floating point.
    expect(estimate([0.1, 0.1, 0.1], 1e-9)).toEqual([0, 0, 0]);
    fc.assert(
      fc.property(reward, fc.integer({ min: 1, max: 32 }), (value, size) => {
        expect(estimate(new Array<number>(size).fill(value), 1e-9)).toEqual(new Array<number>(size).fill(0));
      }),
    );
  });

  it('gives a group of one the advantage 0', () => {
    expect(estimate([3], 1e-4)).toEqual([0]);
  });

  it('sums to 0 over a group, is unmoved by a constant added to all rewards, and keeps their order', () => {
    fc.assert(
      fc.property(rewards, fc.integer({ min: -50, max: 50 }), (rewardsG, offset) => {
        const advantagesG = estimate(rewardsG, 1e-2);
        expect(advantagesG.reduce((a, b) => a + b, 0)).toBeCloseTo(0, 6);
        expectClose(
          estimate(
            rewardsG.map((r) => r + offset),
            1e-2,
          ),
          advantagesG,
          6,
        );
        for (let i = 1; i < rewardsG.length; i++) {
          if (rewardsG[i]! > rewardsG[i - 1]!)
            expect(advantagesG[i]).toBeGreaterThanOrEqual(advantagesG[i - 1]!);
        }
      }),
    );
  });

  it('does not depend on the order of the group', () => {
    fc.assert(
      fc.property(rewards, (rewardsG) => {
        expectClose(estimate(rewardsG.toReversed(), 1e-2).toReversed(), estimate(rewardsG, 1e-2), 6);
      }),
    );
  });

  it('takes an empty group', () => {
    expect(estimate([], 1e-4)).toEqual([]);
  });
});
