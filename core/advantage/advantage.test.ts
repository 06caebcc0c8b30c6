import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AdvantageSettings } from '../algorithm.ts';
import { distillation } from './distillation.ts';
import type { Advantage, Group } from './estimator.ts';
import { gae, returnsOf } from './gae.ts';
import { estimateAdvantages } from './index.ts';
import { remax } from './remax.ts';

/** A group of trajectories with these rewards, of 1, 2, 3 … tokens. */
function group(rewardsG: readonly number[]): Group {
  return rewardsG.map((reward, i) => ({ reward, tokens: i + 1 }));
}

function ofGroup(settings: AdvantageSettings, rewardsG: readonly number[]): number[] {
  return estimateAdvantages([group(rewardsG)], settings)[0] as number[];
}

function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, digits = 9): void {
  expect(actual).toHaveLength(expected.length);
  Array.from(actual).forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, digits));
}

const baselines: AdvantageSettings[] = [
  { kind: 'grpo', epsilon: 1e-2 },
  { kind: 'dr-grpo' },
  { kind: 'rloo' },
  { kind: 'gpg' },
  { kind: 'cpgd', weight: 'equal' },
  { kind: 'cpgd', weight: 'standard-deviation' },
  { kind: 'cpgd', weight: 'clip-filter' },
];
const compared: AdvantageSettings[] = [
  ...baselines,
  { kind: 'opo' },
  { kind: 'grpo-pass-at-k', epsilon: 1e-2 },
];

describe('a group worked out by hand', () => {
  // Rewards 0, 0, 0, 1: mean 1/4, squares 3/16 + 9/16 = 3/4, unbiased std sqrt(3/4 / 3) = 1/2, biased sqrt(3)/4.
  const rewardsG = [0, 0, 0, 1];
  it.each<[AdvantageSettings, number[]]>([
    [{ kind: 'grpo', epsilon: 0.5 }, [-0.25, -0.25, -0.25, 0.75]],
    [{ kind: 'dr-grpo' }, [-0.25, -0.25, -0.25, 0.75]],
    [{ kind: 'rloo' }, [-1 / 3, -1 / 3, -1 / 3, 1]],
    [{ kind: 'reinforce', discount: 1 }, rewardsG],
    // Lengths 1, 2, 3, 4: baseline 4 / 10.
    [{ kind: 'opo' }, [-0.4, -0.4, -0.4, 0.6]],
    [{ kind: 'grpo-pass-at-k', epsilon: 0.5 }, [0, 0, 0, 1]],
    [{ kind: 'gpg' }, [-0.25, -0.25, -0.25, 0.75]],
    [{ kind: 'cpgd', weight: 'equal' }, [-0.25, -0.25, -0.25, 0.75]],
  ])('%o', (settings, expected) => expectClose(ofGroup(settings, rewardsG), expected));

  it('cpgd divides by the standard deviation with divisor n', () => {
    const scale = Math.sqrt(3) / 4 + 1e-6;
    const expected = [-0.25, -0.25, -0.25, 0.75].map((value) => value / scale);
    expectClose(ofGroup({ kind: 'cpgd', weight: 'standard-deviation' }, rewardsG), expected);
  });

  it('gpg and the clip filter of cpgd make up for groups without signal, the latter by at most 3', () => {
    const constant = group([1, 1, 1, 1]);
    const groups = [group(rewardsG), constant, constant, constant];
    const first = (settings: AdvantageSettings) => estimateAdvantages(groups, settings)[0] as number[];
    expectClose(first({ kind: 'gpg' }), [-1, -1, -1, 3]);
    expectClose(first({ kind: 'cpgd', weight: 'clip-filter' }), [-0.75, -0.75, -0.75, 2.25]);
  });
});

describe.each(compared.map((settings) => ({ label: JSON.stringify(settings), settings })))(
  '$label',
  ({ settings }) => {
    const reward = fc.double({ min: -100, max: 100, noNaN: true });
    const rewards = fc.array(reward, { minLength: 1, maxLength: 16 });
    const estimate = (rewardsG: readonly number[]) => ofGroup(settings, rewardsG);

    it('gives exactly 0 to a constant group, also where the mean is rounded', () => {
      // The mean of 3 times 0.1 is not 0.1 in floating point.
      expect(estimate([0.1, 0.1, 0.1])).toEqual([0, 0, 0]);
      fc.assert(
        fc.property(reward, fc.integer({ min: 1, max: 32 }), (value, size) => {
          expect(estimate(new Array<number>(size).fill(value))).toEqual(new Array<number>(size).fill(0));
        }),
      );
    });

    it('gives a group of one the advantage 0, and takes an empty group', () => {
      expect(estimate([3])).toEqual([0]);
      expect(estimate([])).toEqual([]);
    });

    it('is unmoved by a constant added to all rewards, and keeps their order', () => {
      fc.assert(
        fc.property(rewards, fc.integer({ min: -50, max: 50 }), (rewardsG, offset) => {
          const advantagesG = estimate(rewardsG);
          const moved = estimate(rewardsG.map((r) => r + offset));
          expectClose(moved, advantagesG, 6);
          const order = rewardsG.map((_, i) => i).sort((a, b) => rewardsG[a]! - rewardsG[b]!);
          for (let i = 1; i < order.length; i++) {
            const [lower, higher] = [order[i - 1]!, order[i]!];
            if (rewardsG[higher]! > rewardsG[lower]!)
              expect(advantagesG[higher]).toBeGreaterThanOrEqual(advantagesG[lower]!);
          }
        }),
      );
    });

    it('does not depend on the order of the group or of the groups', () => {
      fc.assert(
        fc.property(rewards, rewards, (one, other) => {
          fc.pre(new Set(one).size === one.length); // of equal best answers, pass@k takes the first
          const members = group(one);
          const [[reversed = []] = []] = [estimateAdvantages([members.toReversed(), group(other)], settings)];
          const [, straight = []] = estimateAdvantages([group(other), members], settings);
          expectClose((reversed as number[]).toReversed(), straight as number[], 6);
        }),
      );
    });
  },
);

it.each(baselines)('%o sums to 0 over a group', (settings) => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: -100, max: 100, noNaN: true }), { minLength: 1 }), (rewardsG) => {
      const sum = ofGroup(settings, rewardsG).reduce((a, b) => a + b, 0);
      expect(sum).toBeCloseTo(0, 6);
    }),
  );
});

it('without token rewards and discount, gae with lambda 1 and values of 0 is reinforce', () => {
  const member = { reward: 2, tokens: 3, valuesN: [0, 0, 0] };
  expect(gae([[member]], { discount: 1, lambda: 1 })).toEqual([[Float64Array.of(2, 2, 2)]]);
});

it('gae agrees with two tokens worked out by hand, and returns are advantages plus values', () => {
  const member = { reward: 1, tokens: 2, tokenRewardsN: [0.1, 0], valuesN: [0.5, 0.25] };
  const settings = { discount: 0.5, lambda: 0.5 };
  // delta_1 = 1 - 0.25 = 0.75; delta_0 = 0.1 + 0.5 * 0.25 - 0.5 = -0.275; A_0 = -0.275 + 0.25 * 0.75 = -0.0875.
  const [[advantagesN] = []] = gae([[member]], settings);
  expectClose(advantagesN as Float64Array, [-0.0875, 0.75], 12);
  expectClose(returnsOf(member, settings), [0.4125, 1], 12);
});

it('reinforce discounts what comes later', () => {
  const member = { reward: 1, tokens: 3, tokenRewardsN: [0, 2, 0] };
  const [[advantagesN] = []] = estimateAdvantages([[member]], { kind: 'reinforce', discount: 0.5 });
  expectClose(advantagesN as Float64Array, [1.25, 2.5, 1]);
});

describe('distillation', () => {
  const settings = { coefficient: 0.5, taskReward: false, epsilon: 1e-4 };
  const member = (reward: number) => ({
    reward,
    tokens: 3,
    logprobsN: [-1, -2, -50],
    teacherLogprobsN: [-2, -1, -0.5],
  });

  it('pushes to where the teacher is surer, by at most 20 nats', () => {
    const [[advantagesN] = []] = distillation([[member(7)]], settings);
    expectClose(advantagesN as Float64Array, [-0.5, 0.5, 10]);
  });

  it("adds GRPO's advantage of the task where it is asked to", () => {
    const hybrid = distillation([[member(0), member(1)]], { ...settings, taskReward: true })[0]!;
    const ofTask = ofGroup({ kind: 'grpo', epsilon: 1e-4 }, [0, 1]);
    hybrid.forEach((advantagesN, i) =>
      expectClose(advantagesN as Float64Array, [ofTask[i]! - 0.5, ofTask[i]! + 0.5, ofTask[i]! + 10]),
    );
  });

  it('refuses a trajectory that the teacher did not score', () => {
    expect(() => distillation([[{ ...member(0), teacherLogprobsN: [-1] }]], settings)).toThrow(
      'has 1 log-probs',
    );
  });
});

it('remax takes the reward of the greedy answer off, and refuses to go without', () => {
  const advantages: Advantage[][] = remax([[{ reward: 1, tokens: 4, baselineReward: 0.25 }]], {});
  expect(advantages).toEqual([[0.75]]);
  expect(() => remax([[{ reward: 1, tokens: 4 }]], {})).toThrow('greedy answer');
});
