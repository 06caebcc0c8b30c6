import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseRecipe } from './recipe-parse.ts';
import type { RecipeMap } from './recipe-merge.ts';

const smoke = parse(readFileSync(new URL('../recipes/smoke.yaml', import.meta.url), 'utf8')) as RecipeMap;
const withRules = (stopping: unknown[], other: RecipeMap = {}) => ({ ...smoke, ...other, stopping });

describe('rules that are sound', () => {
  test.each([
    { metric: 'reward/mean', above: 0.95, for: 3 },
    { metric: 'reward/exact-match/mean', below: 0.01, above: 0.99 },
    { metric: 'evaluation/accuracy', above: 0.9 },
    { plateau: { metric: 'loss/policy', iterations: 20, minDelta: 0.01, goal: 'lower' } },
    { wallSeconds: 3600 },
    { generatedTokens: 1_000_000 },
  ])('pass (%j)', (rule) => {
    expect(parseRecipe(withRules([rule]), 'here').stopping).toMatchObject([rule]);
  });
});

describe('a rule is refused', () => {
  test.each([
    [
      { metric: 'reward/maen', above: 1 },
      'stopping.0.metric: "reward/maen" is not a metric; did you mean reward/mean?',
    ],
    [
      { metric: 'advantage/standard-deviation', above: 1 },
      'expected one of advantage/mean, advantage/std, advantage/min',
    ],
    [{ metric: 'warm_start/loss', below: 1 }, 'which has its own rule: warmStart.stopLoss'],
    [{ metric: 'policy/reference_kl', above: 1 }, 'is not measured without algorithm.kl'],
    [{ metric: 'reward/math-answer/mean', above: 1 }, 'is of no reward of the recipe: exact-match, format'],
    [{ metric: 'reward/mean' }, 'stopping.0: neither above nor below given'],
    [
      { metric: 'reward/mean', above: 1, wallSeconds: 2 },
      'stopping.0: metric and wallSeconds given; expected exactly one',
    ],
    [{}, 'stopping.0: none of metric, plateau, wallSeconds, generatedTokens given'],
    [{ wallSeconds: 5, for: 2 }, 'stopping.0.for: has no effect without stopping.0.metric'],
    [{ plateau: { metric: 'reward/men', iterations: 2 } }, 'did you mean reward/mean?'],
    [{ wallSecond: 5 }, 'stopping.0.wallSecond: unknown key; did you mean stopping.0.wallSeconds?'],
  ])('%j', (rule, problem) => {
    expect(() => parseRecipe(withRules([rule]), 'here')).toThrow(problem);
  });

  test('when it looks at evaluations and there are none', () => {
    const { evaluation: _, ...without } = withRules([
      { metric: 'evaluation/accuracy', above: 1 },
    ]) as RecipeMap;
    expect(() => parseRecipe(without, 'here')).toThrow('is not measured without the section evaluation');
  });
});
