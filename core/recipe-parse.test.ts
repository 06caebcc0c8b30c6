import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { RekindleError } from './errors.ts';
import type { RecipeMap } from './recipe-merge.ts';
import { parseRecipe } from './recipe-parse.ts';
import { applyOverrides } from './recipe-set.ts';

const smoke = parse(readFileSync(new URL('../recipes/smoke.yaml', import.meta.url), 'utf8')) as RecipeMap;

/** The problems that the smoke recipe has after changes, a line each. */
function problems(...changes: string[]): string[] {
  return problemsOf(applyOverrides(smoke, changes));
}

function problemsOf(recipe: unknown): string[] {
  try {
    parseRecipe(recipe, 'here');
  } catch (error) {
    if (error instanceof RekindleError && error.kind === 'RecipeError') {
      return error.message
        .split('\n')
        .slice(1)
        .map((line) => line.trim());
    }
    throw error;
  }
  return [];
}

test('a sound recipe comes out with its defaults, and unchanged when parsed again', () => {
  const recipe = parseRecipe(smoke, 'here');
  expect(recipe.rollout.temperature).toBe(1);
  expect(recipe.algorithm.advantage).toEqual({ kind: 'grpo', epsilon: 1e-4 });
  expect(parseRecipe(recipe, 'here')).toEqual(recipe);
});

test('all problems are listed at once, under the name of the recipe', () => {
  const broken = applyOverrides(smoke, ['rollout.groupSize=many', 'training.iterations=-1']);
  expect(() => parseRecipe({ ...broken, sed: 1 }, 'recipe mine.yaml')).toThrow(
    [
      'recipe mine.yaml: 3 problems',
      '  rollout.groupSize: "many"; expected a number',
      '  training.iterations: -1; expected at least 0',
      '  sed: unknown key; did you mean seed?',
    ].join('\n'),
  );
});

describe('a value is refused with its path, itself, and what was expected', () => {
  test.each([
    [
      'algorithm.advantage.kind=gprpo',
      'algorithm.advantage.kind: "gprpo"; expected one of grpo, dr-grpo, rloo, reinforce, opo, gpg, grpo-pass-at-k, cpgd; did you mean grpo?',
    ],
    ['algorithm.loss=dpo', 'algorithm.loss: "dpo"; expected a mapping'],
    ['training.epochs=1.5', 'training.epochs: 1.5; expected a whole number'],
    ['rollout.topP=2', 'rollout.topP: 2; expected at most 1'],
    ['rollout.topP=0', 'rollout.topP: 0; expected more than 0'],
    ['rewards=[]', 'rewards: []; expected a list of at least 1'],
    ['rewards=exact-match', 'rewards: "exact-match"; expected a list'],
    ['engine=fast', 'engine: "fast"; expected a mapping'],
    [
      'rewards.0.kind=exact-mach',
      'rewards.0.kind: "exact-mach"; expected one of exact-match, math-answer, format, environment; did you mean exact-match?',
    ],
    [
      'adapter={rank: 4, alpha: 8, targets: [nope]}',
      'adapter.targets: ["nope"]; expected one of all-linear, q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj',
    ],
    ['name=My Run', 'name: "My Run"; expected lower-case letters, digits and hyphens'],
    ['rollout.maxNewTokens=null', 'rollout.maxNewTokens: missing; expected a number'],
    [
      'data.train={source: gsm8k, hub: gsm8k}',
      'data.train.hub: "gsm8k"; expected <owner>/<name>:<path in the repository>',
    ],
  ])('%s', (change, problem) => {
    expect(problems(change)).toEqual([problem]);
  });
});

describe('unknown keys', () => {
  test('get the key that was meant, also when it stands elsewhere', () => {
    const training = smoke['training'] as RecipeMap;
    expect(problemsOf({ ...smoke, training: { ...training, minibatchRow: 1 } })).toEqual([
      'training.minibatchRow: unknown key; did you mean training.minibatchRows?',
    ]);
    expect(problemsOf({ ...smoke, maxNewTokens: 3 })).toEqual([
      'maxNewTokens: unknown key; did you mean rollout.maxNewTokens or evaluation.maxNewTokens?',
    ]);
  });

  test('of another variant are told apart', () => {
    expect(problems('data.train.path=x')).toEqual([
      'data.train.path: has no effect here; it belongs to source: gsm8k',
    ]);
  });

  test('without a likely meaning list what there is', () => {
    expect(problemsOf({ ...smoke, prompt: { wandb: 1 } })).toEqual([
      'prompt.wandb: unknown key; expected template, system',
    ]);
  });
});

describe('fields that do not fit together are refused, all named with their numbers', () => {
  test.each([
    [['model.path=x'], 'model: initialize and path given; expected exactly one'],
    [['model.initialize=null'], 'model: none of initialize, path and hub given'],
    [
      ['model.initialize.heads=3', 'model.initialize.kvHeads=2'],
      'heads (3) is not a multiple of kvHeads (2)',
    ],
    [['model.initialize.headSize=15'], 'model.initialize.headSize: 15: expected a multiple of 16'],
    [
      ['rollout.tasksPerShard=5'],
      'rollout.tasksPerIteration (32) is not a multiple of rollout.tasksPerShard (5)',
    ],
    [['training.minibatchRows=48'], '32 × 4 = 128 is not a multiple of training.minibatchRows (48)'],
    [['rollout.groupSize=1', 'training.minibatchRows=32'], 'rollout.groupSize: 1 sample a task'],
    [
      ['rollout.maxNewTokens=7'],
      'prompts of 6 and 7 new tokens make 13, more than model.initialize.maxPositions (12)',
    ],
    [
      ['rollout.maxNewTokens=3'],
      'rollout.maxNewTokens: 3, but the sum of 2-digit numbers and its newline take up to 4 tokens',
    ],
    [['evaluation.maxNewTokens=2'], 'evaluation.maxNewTokens: 2, but'],
    [
      ['training.microbatchTokens=9'],
      'training.microbatchTokens: 9, but a row of prompt and response can have 10 tokens',
    ],
    [['warmStart.window=3'], 'warmStart.commitEvery: 8 is not a multiple of warmStart.window (3)'],
    [['warmStart.maxSteps=1'], 'warmStart.window: 2 steps, more than warmStart.maxSteps (1)'],
    [
      ['adapter={rank: 4, alpha: 8}', 'training.frozen=["model.norm.*"]'],
      'training.frozen: has no effect with an adapter',
    ],
    [
      ['adapter={rank: 4, alpha: 8, targets: [q_proj, q_proj]}'],
      'adapter.targets.1: "q_proj" is given twice',
    ],
    [['training.frozen=["model.{0..}"]'], 'training.frozen.0: "model.{0..}": {0..} is neither a range'],
    [
      ['training.optimizer.warmupSteps=5', 'training.optimizer.schedule={decay: cosine, decaySteps: 5}'],
      'training.optimizer.schedule.decaySteps: 5, but the warm-up alone takes 5 steps',
    ],
    [['evaluation.tasks=2000'], 'evaluation.tasks: 2000 tasks, but addition with 2 digits has'],
    [
      ['rewards.1.pattern="("'],
      'rewards.1.pattern: "(" is not an RE2 regular expression: error parsing regexp: missing',
    ],
    [
      ['rewards.1.pattern="(?=a)b"'],
      'rewards.1.pattern: "(?=a)b" is not an RE2 regular expression: error parsing regexp: invalid',
    ],
    [
      ['rewards.1.kind=exact-match', 'rewards.1.pattern=null'],
      'rewards.1.kind: "exact-match" is given twice',
    ],
    [['data.train={source: gsm8k}'], 'data.train: neither path nor hub given; expected exactly one'],
    [
      ['data.train={source: gsm8k, path: a, hub: "a/b:c"}'],
      'data.train: both path and hub given; expected exactly one',
    ],
    [
      ['data={train: {source: gsm8k, path: a}, evaluation: {source: gsm8k, path: a}}'],
      'data.evaluation: the same file as data.train',
    ],
  ])('%s', (changes, problem) => {
    expect(problems(...changes)).toEqual([expect.stringContaining(problem)]);
  });
});

describe('keys without effect are refused', () => {
  test.each([
    [['prompt.system=Think.'], 'prompt.system: has no effect with prompt.template "raw"'],
    [
      ['algorithm.advantage={kind: rloo, epsilon: 1e-3}'],
      'algorithm.advantage.epsilon: has no effect here; it belongs to',
    ],
    [
      ['evaluation=null', 'data.evaluation={source: addition}'],
      'data.evaluation: has no effect without the section evaluation',
    ],
    [['rewards.0.weight=0'], 'rewards.0.weight: 0 gives this reward no effect'],
  ])('%s', (changes, problem) => {
    expect(problems(...changes)).toEqual([expect.stringContaining(problem)]);
  });
});

test('reinforce has no group baseline, so one sample a task will do', () => {
  expect(
    problems('algorithm.advantage.kind=reinforce', 'rollout.groupSize=1', 'training.minibatchRows=32'),
  ).toEqual([]);
});
