/**
 * Advantages against verl 0.9.1. What differs, and why:
 * - A group of one has advantage 0 for estimators that compare a group; verl gives it its reward. The vectors have none.
 * - GPG's alpha counts the trajectories of groups that are not constant, as the paper does; verl counts rewards that are not 0. The
 *   comparison scales ours by the quotient.
 * - Where whitening is part of verl's estimator (REINFORCE++, its baseline form, GAE) it is a setting of its own here.
 */
import { describe, expect, it } from 'vitest';
import type { Advantage, AdvantageEstimator, Group } from '../../core/advantage/estimator.ts';
import { gae, returnsOf } from '../../core/advantage/gae.ts';
import { advantageEstimators } from '../../core/advantage/index.ts';
import { optimalTokenBaseline } from '../../core/advantage/optimal-token-baseline.ts';
import { remax } from '../../core/advantage/remax.ts';
import { isConstant } from '../../core/advantage/statistics.ts';
import { whiten } from '../../core/advantage/whiten.ts';
import { verlVectors, type AdvantageCase } from './verl-vectors.ts';

const { groupSize, cases } = verlVectors.advantages;

interface Options {
  dense: boolean;
  corrected: boolean;
}

/** The groups of a case; the numbers of its rows follow one another. */
function groupsOf(given: AdvantageCase, { dense, corrected }: Options): Group[] {
  let start = 0;
  const members = given.counts.map((tokens, row) => {
    const own = (values: number[]): number[] => values.slice(start, start + tokens);
    const member = {
      reward: given.rewards[row]!,
      tokens,
      valuesN: own(given.values),
      baselineReward: given.baselineRewards[row]!,
      logprobsN: own(given.oldLogprobs),
      sumOfSquaresN: own(given.sumOfSquares),
      ...(dense && { tokenRewardsN: own(given.tokenRewards) }),
      ...(corrected && { importanceN: own(given.importance) }),
    };
    start += tokens;
    return member;
  });
  return Array.from({ length: members.length / groupSize }, (_, g) =>
    members.slice(g * groupSize, (g + 1) * groupSize),
  );
}

const estimators: Record<
  string,
  { estimate: AdvantageEstimator<never>; dense?: boolean; whitened?: boolean }
> = {
  ...Object.fromEntries(
    (['grpo', 'dr-grpo', 'rloo', 'opo', 'gpg', 'grpo-pass-at-k'] as const).map((name) => [
      name,
      { estimate: advantageEstimators[name] },
    ]),
  ),
  'reinforce++': { estimate: advantageEstimators.reinforce, dense: true, whitened: true },
  'reinforce++-baseline': { estimate: advantageEstimators['dr-grpo'], whitened: true },
  remax: { estimate: remax },
  'optimal-token-baseline': { estimate: optimalTokenBaseline },
  gae: { estimate: gae, dense: true, whitened: true },
};

/** verl's alpha over the paper's. */
function verlAlpha(groups: readonly Group[]): number {
  const rewards = groups.map((group) => group.map(({ reward }) => reward));
  const withSignal = rewards.filter((rewardsG) => !isConstant(rewardsG)).flat().length;
  return withSignal / Math.max(1, rewards.flat().filter((reward) => reward !== 0).length);
}

function byToken(advantages: readonly Advantage[][], groups: readonly Group[]): number[] {
  return advantages.flatMap((ofGroup, g) =>
    ofGroup.flatMap((advantage, i) =>
      typeof advantage === 'number'
        ? new Array<number>(groups[g]![i]!.tokens).fill(advantage)
        : Array.from(advantage),
    ),
  );
}

describe.each(cases)('$kind rewards', (given) => {
  it.each(given.advantages.map((one) => [`${one.estimator} ${JSON.stringify(one.settings)}`, one] as const))(
    '%s',
    (_, { estimator, settings, value }) => {
      const { estimate, dense = false, whitened = false } = estimators[estimator]!;
      const groups = groupsOf(given, { dense, corrected: settings['corrected'] === true });
      const estimated = estimate(groups, settings as never);
      const scale = estimator === 'gpg' ? verlAlpha(groups) : 1;
      const found = byToken(whitened ? whiten(estimated, groups) : estimated, groups);
      expect(found).toHaveLength(value.length);
      value.forEach((expected, t) =>
        expect(Math.abs(scale * found[t]! - expected)).toBeLessThan(1e-9 * Math.max(1, Math.abs(expected))),
      );
    },
  );

  it.each(Object.entries(given.returns))('the returns of gae with discount and lambda %s', (name, value) => {
    const [discount = 1, lambda = 1] = name.split(' ').map(Number);
    const found = groupsOf(given, { dense: true, corrected: false }).flatMap((group) =>
      group.flatMap((member) => Array.from(returnsOf(member, { discount, lambda }))),
    );
    value.forEach((expected, t) => expect(found[t]).toBeCloseTo(expected, 9));
  });
});
