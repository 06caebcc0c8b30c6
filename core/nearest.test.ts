import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editDistance, nearest } from './nearest.ts';

const word = fc.string({ maxLength: 12 });

describe('editDistance', () => {
  test('counts insertions, deletions, substitutions and swaps', () => {
    expect(editDistance('groupSize', 'groupSze')).toBe(1);
    expect(editDistance('kl', 'lk')).toBe(1);
    expect(editDistance('kitten', 'sitting')).toBe(3);
    expect(editDistance('', 'abc')).toBe(3);
  });

  test('is symmetric, 0 only for equal words, and at most the longer length', () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });
});

describe('nearest', () => {
  test('finds the closest candidate, whatever the case', () => {
    expect(nearest('GRPPO', ['rloo', 'grpo', 'dr-grpo'])).toBe('grpo');
  });

  test('suggests nothing rather than something far-fetched', () => {
    expect(nearest('wandb', ['rollout', 'training'])).toBeUndefined();
  });
});
