import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parameterCount } from './model-shape.ts';
import { planSchema, type PlanFacts } from './plan-schema.ts';
import { planRun } from './plan.ts';
import type { RecipeMap } from './recipe-merge.ts';
import { parseRecipe } from './recipe-parse.ts';
import { applyOverrides } from './recipe-set.ts';

/** Numbers of this file's own, so that tuning the recipe changes no expectation. */
const fixed = ['training.iterations=24', 'rollout.tasksPerShard=512', 'engine.slots=64'];

function recipeWith(...overrides: string[]) {
  const text = readFileSync(new URL('../recipes/quickstart.yaml', import.meta.url), 'utf8');
  return parseRecipe(applyOverrides(parse(text) as RecipeMap, [...fixed, ...overrides]), 'quickstart');
}

const quickstart = recipeWith();
const facts: PlanFacts = {
  model: { ...quickstart.model.initialize!, vocabSize: 128, attentionBias: false, queryKeyNorm: false },
  dataSize: null,
  cores: 2,
  memoryBytes: 4 * 2 ** 30,
  missing: [],
  notes: [],
};

test('the quickstart model has 1,353,024 parameters (counted tensor by tensor in its prototype)', () => {
  expect(parameterCount(facts.model!)).toBe(1_353_024);
});

test('a head of its own, biases and norms of heads count', () => {
  const { hiddenSize, layers, heads, kvHeads, headSize } = facts.model!;
  const counted = (options: object) => parameterCount({ ...facts.model!, ...options }) - 1_353_024;
  expect(counted({ tiedHead: false })).toBe(128 * hiddenSize);
  expect(counted({ attentionBias: true })).toBe(layers * (heads + 2 * kvHeads) * headSize);
  expect(counted({ queryKeyNorm: true })).toBe(layers * 2 * headSize);
});

test('batch arithmetic: episodes, shards, token bounds, steps, versions, evaluations', () => {
  const { iteration, run, ready } = planRun(quickstart, facts);
  expect(ready).toBe(true);
  expect(iteration).toEqual({
    tasks: 2048,
    groupSize: 4,
    episodes: 8192,
    shards: 4,
    promptTokens: 8,
    generatedTokens: 40_960,
    rows: 8192,
    minibatches: 16,
    optimizerSteps: { min: 0, max: 16 },
  });
  expect(run).toEqual({
    warmStartSteps: 400,
    iterations: 24,
    episodes: 196_608,
    generatedTokens: 983_040,
    optimizerSteps: { min: 0, max: 384 },
    policyVersions: 1 + 24 + 8,
    evaluations: 13,
    evaluationEpisodes: 13 * 512,
    epochs: null,
  });
});

test('keeping all groups makes the number of steps certain, and epochs multiply it', () => {
  const recipe = recipeWith('algorithm.dropZeroVarianceGroups=false', 'training.epochs=2');
  expect(planRun(recipe, facts).iteration.optimizerSteps).toEqual({ min: 32, max: 32 });
});

test('the last policy is evaluated once, whether or not the interval ends there', () => {
  expect(planRun(recipeWith('training.iterations=4'), facts).run.evaluations).toBe(3);
  expect(planRun(recipeWith('training.iterations=5'), facts).run.evaluations).toBe(4);
  expect(planRun(recipeWith('training.iterations=0'), facts).run.evaluations).toBe(1);
});

test('epochs follow from the size of the data', () => {
  expect(planRun(quickstart, { ...facts, dataSize: 2048 * 12 }).run.epochs).toBe(2);
});

describe('estimates', () => {
  test('memory and disk follow from the parameters', () => {
    const { memory, disk } = planRun(quickstart, facts);
    const weights = 4 * 1_353_024;
    expect(memory).toMatchObject({ weights, gradients: weights, moments: 2 * weights, referenceWeights: 0 });
    expect(memory?.rolloutWeights).toBe(3 * weights);
    // 64 sequences of 13 tokens, keys and values of 6 heads × 32 in 3 layers, 4 bytes each.
    expect(memory?.keyValueCache).toBe(64 * 13 * 2 * 3 * 6 * 32 * 4);
    expect(disk?.perVersion).toBe(3 * weights);
    // Version 0 has no optimizer state.
    expect(disk?.total).toBeCloseTo(weights + 32 * 3 * weights + 24 * disk!.perIteration);
  });

  test('an adapter has gradients, moments and versions of its own size, and spares a third of the time of training', () => {
    const full = planRun(quickstart, facts);
    const { memory, disk, time } = planRun(
      recipeWith('adapter={rank: 2, alpha: 4, targets: [q_proj]}'),
      facts,
    );
    const { hiddenSize, layers, heads, headSize } = facts.model!;
    const adapter = 4 * layers * 2 * (hiddenSize + heads * headSize);
    expect(memory).toMatchObject({ gradients: adapter, moments: 2 * adapter });
    expect(disk?.perVersion).toBe(3 * adapter);
    expect(time!.atMost.training / full.time!.atMost.training).toBeCloseTo(2 / 3);
  });

  test('checkpointing trades memory for a second forward pass', () => {
    const full = planRun(quickstart, facts);
    const { memory, time } = planRun(recipeWith('training.checkpointing=true'), facts);
    expect(memory!.activations).toBeLessThan(full.memory!.activations);
    expect(time!.atMost.training / full.time!.atMost.training).toBeCloseTo(4 / 3);
  });

  test('a KL term keeps the reference weights and scores every row', () => {
    const withKl = planRun(recipeWith('algorithm.kl={coefficient: 0.01}'), facts);
    const without = planRun(quickstart, facts);
    expect(withKl.memory?.referenceWeights).toBe(4 * 1_353_024);
    expect(withKl.time!.atMost.training / without.time!.atMost.training).toBeCloseTo(4 / 3);
  });

  test('rolling out ahead keeps the weights of as many more policies, and says what it may save', () => {
    const sync = planRun(quickstart, facts);
    const { memory, time } = planRun(recipeWith('schedule.mode=async', 'schedule.maxStaleness=2'), facts);
    expect(memory!.rolloutWeights - sync.memory!.rolloutWeights).toBe(2 * 4 * 1_353_024);
    const { rollout, training } = sync.time!.likely;
    const saved = `save up to ${Math.min(rollout, training).toFixed(0)} s`;
    expect(time!.assumptions.at(-1)).toContain(saved);
    expect(sync.time!.assumptions.join()).not.toContain('save');
  });

  test('time is inverse to the rate, and likely never exceeds at most', () => {
    const { time } = planRun(quickstart, { ...facts, flopsPerCore: 10e9 });
    const faster = planRun(quickstart, { ...facts, flopsPerCore: 20e9 });
    expect(time!.atMost.rollout / faster.time!.atMost.rollout).toBeCloseTo(2);
    expect(time!.likely.total).toBeLessThan(time!.atMost.total);
    const { total, ...parts } = time!.likely;
    expect(total).toBeCloseTo(Object.values(parts).reduce((sum, part) => sum + part, 0));
  });

  test('the quickstart is foreseen within a factor of two of the 95 to 110 s that its prototype took on 2 cores', () => {
    const { likely } = planRun(quickstart, facts).time!;
    expect(likely.total).toBeGreaterThan(50);
    expect(likely.total).toBeLessThan(200);
  });
});

describe('what is missing', () => {
  test('makes the plan not ready, and without a model there are no estimates', () => {
    const missing = { cause: 'ModelError', message: 'model folder x does not exist' } as const;
    const plan = planRun(quickstart, { ...facts, model: null, missing: [missing] });
    expect(plan).toMatchObject({ ready: false, missing: [missing.message], cause: 'ModelError' });
    expect([plan.model, plan.memory, plan.disk, plan.time]).toEqual([null, null, null, null]);
    expect(plan.iteration.episodes).toBe(8192);
  });

  test('includes positions that the model does not have', () => {
    const plan = planRun(quickstart, { ...facts, model: { ...facts.model!, maxPositions: 12 } });
    expect(plan.missing).toEqual([expect.stringContaining('13 tokens, the model takes 12')]);
  });

  test('is not the memory, which is an estimate and only noted', () => {
    const plan = planRun(quickstart, { ...facts, memoryBytes: 1e6 });
    expect(plan.ready).toBe(true);
    expect(plan.notes).toEqual([expect.stringContaining('memory: the engine needs about')]);
  });
});

test('the environment queue is used when episodes are durable turn by turn', () => {
  const queuesOf = (...overrides: string[]) =>
    planRun(recipeWith(...overrides), facts).queues.map((use) => use.queue);
  expect(queuesOf()).not.toContain('rekindle-env');
  expect(queuesOf('rollout.durability=turn')).toContain('rekindle-env');
});

test('a plan is what its schema says', () => {
  expect(planSchema.parse(planRun(quickstart, facts))).toEqual(planRun(quickstart, facts));
});
