import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nothingSeen, observe, stopReason, type RuleMemory } from './early-stop.ts';
import type { StopRule } from './recipe.ts';

const nothingSpent = { seconds: 0, generatedTokens: 0 };
const values = fc.array(fc.double({ min: -10, max: 10, noNaN: true }), { maxLength: 40 });

function after(rule: StopRule, seen: readonly number[], metric = 'reward/mean'): RuleMemory {
  return seen.reduce((memory, value) => observe(rule, memory, { [metric]: value }), nothingSeen);
}
const isMet = (rule: StopRule, seen: readonly number[]) =>
  stopReason([rule], [after(rule, seen)], nothingSpent) !== undefined;

describe('a rule with a bound', () => {
  test('is met exactly when the last values in a row are all beyond it', () => {
    fc.assert(
      fc.property(
        values,
        fc.integer({ min: 1, max: 5 }),
        fc.double({ min: -9, max: 9 }),
        (seen, n, bound) => {
          const last = seen.slice(-n);
          const above = { metric: 'reward/mean', above: bound, for: n };
          expect(isMet(above, seen)).toBe(last.length === n && last.every((value) => value > bound));
          const below = { metric: 'reward/mean', below: bound, for: n };
          expect(isMet(below, seen)).toBe(last.length === n && last.every((value) => value < bound));
        },
      ),
    );
  });

  test('says which rule, metric and value it was', () => {
    const rule = { metric: 'policy/entropy', below: 0.1, for: 2 };
    const memory = after(rule, [0.5, 0.09, 0.08], 'policy/entropy');
    expect(stopReason([{ wallSeconds: 9 }, rule], [nothingSeen, memory], nothingSpent)).toBe(
      'stopping.1: policy/entropy is 0.08, below 0.1 for the 2th time in a row',
    );
  });

  test('is left as it is by an iteration that does not have the metric', () => {
    const rule = { metric: 'reward/mean', above: 1, for: 2 };
    const memory = after(rule, [2]);
    expect(observe(rule, memory, { 'loss/policy': 3 })).toEqual(memory);
  });
});

describe('a plateau', () => {
  const plateau = (goal: 'higher' | 'lower', iterations: number, minDelta: number): StopRule => ({
    plateau: { metric: 'reward/mean', iterations, minDelta, goal },
  });

  test('is met after that many values in a row without an improvement of more than minDelta', () => {
    expect(isMet(plateau('higher', 2, 0.1), [1, 1.05, 1.09])).toBe(true);
    expect(isMet(plateau('higher', 2, 0.1), [1, 1.05, 1.2])).toBe(false);
    expect(isMet(plateau('higher', 2, 0), [1])).toBe(false);
    expect(isMet(plateau('higher', 2, 0), [1, 1, 1])).toBe(true);
  });

  test('looks down as it looks up', () => {
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 5 }), fc.double({ min: 0, max: 1 }), (seen, n, delta) => {
        const mirrored = seen.map((value) => -value);
        expect(isMet(plateau('lower', n, delta), mirrored)).toBe(isMet(plateau('higher', n, delta), seen));
      }),
    );
  });

  test('is never met while each value is better than all before it', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer()), (seen) => {
        expect(
          isMet(
            plateau('higher', 1, 0),
            seen.toSorted((a, b) => a - b),
          ),
        ).toBe(false);
      }),
    );
  });
});

test('a budget is met when it is used up, and not before', () => {
  const reason = (seconds: number, generatedTokens: number) =>
    stopReason([{ wallSeconds: 60 }, { generatedTokens: 1000 }], [nothingSeen, nothingSeen], {
      seconds,
      generatedTokens,
    });
  expect(reason(59, 999)).toBeUndefined();
  expect(reason(60, 0)).toBe('stopping.0: the run has taken 60 s of 60 s');
  expect(reason(0, 1000)).toBe('stopping.1: 1000 of 1000 tokens have been generated');
});
