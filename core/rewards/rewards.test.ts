import { describe, expect, it } from 'vitest';
import { RekindleError } from '../errors.ts';
import type { RewardSettings } from '../recipe.ts';
import { exactMatch } from './exact-match.ts';
import { format, longestFormattedResponse } from './format.ts';
import { combineRewards } from './index.ts';

const task = { id: 'sum', prompt: '167+599=', answer: '766' };
const thinks = '^<think>.*</think>.*\\\\boxed\\{.*\\}';

describe('exact match', () => {
  it.each([
    ['766\n', 1],
    ['766', 1],
    ['766\n\n', 0],
    [' 766\n', 0],
    ['0766\n', 0],
    ['766 \n', 0],
    ['76', 0],
    ['766\n766\n', 0],
    ['７６６', 0],
    ['', 0],
    ['\n', 0],
  ])('scores %j with %d', (response, expected) => {
    expect(exactMatch(response, task)).toBe(expected);
  });
});

describe('format', () => {
  it('looks for the pattern anywhere, over lines', () => {
    const reward = format(thinks);
    expect(reward('<think>\na\nb</think>\nSo \\boxed{766}.', task)).toBe(1);
    expect(reward(' <think></think>\\boxed{766}', task)).toBe(0);
    expect(reward('<think>\\boxed{766}', task)).toBe(0);
    expect(reward('', task)).toBe(0);
    expect(format('^$')('', task)).toBe(1);
  });

  it('answers at once where a backtracking matcher would hang', () => {
    expect(format('(a+)+$')(`${'a'.repeat(50_000)}b`, task)).toBe(0);
    expect(format(thinks)('<think></think>'.repeat(10_000), task)).toBe(0);
  });

  it('does not match a response beyond the limit', () => {
    const reward = format('a');
    expect(reward('a'.repeat(longestFormattedResponse), task)).toBe(1);
    expect(reward('a'.repeat(longestFormattedResponse + 1), task)).toBe(0);
  });

  it.each(['(', '(?=a)b', '(a)\\1', 'a{1001}'])('refuses the pattern %s', (pattern) => {
    expect(() => format(pattern)).toThrow(RekindleError);
    expect(() => format(pattern)).toThrow(
      `pattern ${JSON.stringify(pattern)} is not an RE2 regular expression`,
    );
  });
});

describe('combineRewards', () => {
  it('gives each reward unweighted and their weighted sum', () => {
    const settings: RewardSettings[] = [
      { kind: 'math-answer', weight: 1 },
      { kind: 'format', weight: 0.25, pattern: '####' },
      { kind: 'format', weight: -0.5, pattern: 'sorry' },
      { kind: 'exact-match', weight: 8 },
    ];
    const scored = combineRewards(settings, 'sorry #### 766', task);
    expect(scored.rewards).toEqual({ 'math-answer': 1, format: 1, 'format-2': 1, 'exact-match': 0 });
    expect(scored.reward).toBe(0.75);
  });

  it('tells apart settings of the same kind in different recipes', () => {
    const first: RewardSettings[] = [{ kind: 'format', weight: 1, pattern: 'a' }];
    const second: RewardSettings[] = [{ kind: 'format', weight: 1, pattern: 'b' }];
    expect(combineRewards(first, 'a', task).reward).toBe(1);
    expect(combineRewards(second, 'a', task).reward).toBe(0);
    expect(combineRewards(first, 'a', task).reward).toBe(1);
  });
});
