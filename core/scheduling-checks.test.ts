import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkScheduling } from './scheduling-checks.ts';
import { parseRecipe } from './recipe-parse.ts';
import type { Recipe } from './recipe.ts';

const smoke = parseRecipe(
  parse(readFileSync(new URL('../recipes/smoke.yaml', import.meta.url), 'utf8')),
  'smoke',
);

function problems(schedule: Partial<Recipe['schedule']>, durability: 'shard' | 'turn' = 'shard'): string[] {
  const found: string[] = [];
  const recipe: Recipe = {
    ...smoke,
    schedule: { ...smoke.schedule, ...schedule },
    rollout: { ...smoke.rollout, durability },
  };
  checkScheduling(recipe, (path, message) => found.push(`${path}: ${message}`));
  return found;
}

test('what depends on the clock, and what else is for async, is refused in the modes whose results are equal', () => {
  for (const mode of ['sync', 'one-step-off'] as const) {
    const keys = {
      maxStaleness: 1,
      lookahead: 2,
      interrupt: true,
      stragglerSeconds: 5,
      stragglers: 'drop',
    } as const;
    expect(problems({ mode })).toEqual([]);
    expect(problems({ mode, ...keys }).map((problem) => problem.split(':')[0])).toEqual(
      Object.keys(keys).map((key) => `schedule.${key}`),
    );
  }
});

test('async needs a bound, and iterations to roll out ahead', () => {
  expect(problems({ mode: 'async' })).toEqual([expect.stringContaining('schedule.maxStaleness: is missing')]);
  expect(problems({ mode: 'async', maxStaleness: 0 })).toEqual([
    expect.stringContaining('schedule.maxStaleness: 0 iterations are rolled out ahead; expected at least 1'),
  ]);
  expect(problems({ mode: 'async', maxStaleness: 3, lookahead: 2 })).toEqual([
    expect.stringContaining('schedule.lookahead: 2 iterations are rolled out ahead; expected at least 3'),
  ]);
  expect(problems({ mode: 'async', maxStaleness: 0, lookahead: 2, overStale: 'correct' })).toEqual([]);
});

test('keys without effect are refused', () => {
  const bound = { mode: 'async', maxStaleness: 2 } as const;
  expect(problems({ ...bound, overStale: 'drop' })).toEqual([
    expect.stringContaining('schedule.overStale: has no effect'),
  ]);
  expect(problems({ ...bound, importanceCap: 3 })).toEqual([
    expect.stringContaining('schedule.importanceCap: has no effect'),
  ]);
  expect(problems({ ...bound, stragglers: 'drop' })).toEqual([
    expect.stringContaining('schedule.stragglers: has no effect'),
  ]);
  expect(problems({ ...bound, interrupt: true, stragglerSeconds: 3 }, 'turn')).toEqual([
    expect.stringContaining('schedule.interrupt: has no effect with rollout.durability "turn"'),
    expect.stringContaining('schedule.stragglerSeconds: has no effect with rollout.durability "turn"'),
  ]);
});
