import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { RecipeMap } from './recipe-merge.ts';
import { parseRecipe } from './recipe-parse.ts';
import { applyOverrides } from './recipe-set.ts';

const smoke = parse(readFileSync(new URL('../recipes/smoke.yaml', import.meta.url), 'utf8')) as RecipeMap;
const attempts = 'environment={kind: attempts, attempts: 3, feedback: "no:"}';
const command = 'environment={kind: command, command: [play], maxTurns: 3}';
const solved = 'rewards=[{kind: environment, name: solved}]';

it.each([
  [
    [attempts],
    'environment.attempts: 3 attempts take at least 18 tokens with their prompt, more than model.initialize.maxPositions (12)',
  ],
  [
    [attempts, 'model.initialize.maxPositions=24', 'training.microbatchTokens=17'],
    'environment.attempts: 3 attempts take at least 18 tokens with their prompt, more than training.microbatchTokens (17)',
  ],
  [[command], '"command", but no reward of kind environment'],
  [[solved], 'rewards.0.kind: "environment" has no effect with environment.kind "single-turn"'],
  [
    [command, 'rewards=[{kind: environment, name: a}, {kind: environment, name: a}]'],
    'rewards.1.name: "a" is given twice; rewards are recorded by name',
  ],
  [
    [command, solved, 'environment.maxTurns=4'],
    'environment.maxTurns: 4 turns take at least 13 tokens with their prompt, more than',
  ],
  [
    ['environment={kind: attempts, attempts: 1, feedback: x}'],
    'environment.attempts: 1; expected at least 2',
  ],
])('%j is refused', (changes, problem) => {
  expect(() => parseRecipe(applyOverrides(smoke, changes), 'here')).toThrow(problem);
});

it('what fits is accepted, whichever rewards a program gives beside those of responses', () => {
  expect(
    parseRecipe(applyOverrides(smoke, [attempts, 'model.initialize.maxPositions=18']), 'here'),
  ).toMatchObject({
    environment: { discount: 1 },
  });
  const rewards = 'rewards=[{kind: environment, name: solved}, {kind: exact-match}]';
  expect(parseRecipe(applyOverrides(smoke, [command, rewards]), 'here')).toMatchObject({
    environment: { timeoutSeconds: 60 },
  });
});
