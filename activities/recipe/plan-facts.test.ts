import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { planRun } from '../../core/plan.ts';
import { loadRecipe } from './load-recipe.ts';
import { gatherPlanFacts } from './plan-facts.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rekindle-plan-'));
  vi.stubEnv('HF_HUB_CACHE', join(folder, 'hub'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

test('a recipe that makes its own model and data lacks nothing', async () => {
  const facts = await gatherPlanFacts(await loadRecipe('smoke'));
  expect(facts).toMatchObject({
    dataSize: null,
    missing: [],
    notes: [],
    model: { vocabSize: 128, layers: 2 },
  });
  expect(facts.cores).toBeGreaterThan(0);
});

test('gsm8k plans before its model folder and files are there, and says so', async () => {
  const recipe = await loadRecipe('gsm8k', [`model={path: ${folder}/absent}`]);
  const plan = planRun(recipe, await gatherPlanFacts(recipe));
  expect(plan.ready).toBe(false);
  expect(plan.missing).toEqual([expect.stringContaining(`model folder ${folder}/absent does not exist`)]);
  expect(plan.notes).toEqual([
    expect.stringContaining('train-00000-of-00001.parquet is not in the cache'),
    expect.stringContaining('test-00000-of-00001.parquet is not in the cache'),
  ]);
});

test('a broken data file and too few evaluation rows are told', async () => {
  const path = join(folder, 'rows.jsonl');
  const overrides = [
    `data.train={source: gsm8k, path: ${path}}`,
    'data.evaluation={source: addition, digits: 1}',
    'evaluation.tasks=2',
  ];
  await writeFile(path, 'not JSON\n');
  const broken = await gatherPlanFacts(await loadRecipe('gsm8k', overrides));
  expect(broken.missing).toContainEqual({
    cause: 'DataError',
    message: expect.stringContaining(`${path}:1: not JSON`) as string,
  });

  const line = JSON.stringify({ question: 'How many?', answer: '#### 1' });
  await writeFile(path, `${line}\n${line}\n`);
  expect((await gatherPlanFacts(await loadRecipe('gsm8k', overrides))).dataSize).toBe(2);

  const held = [
    `data.train={source: gsm8k, path: ${path}}`,
    `data.evaluation={source: gsm8k, path: ${path}2}`,
  ];
  await writeFile(`${path}2`, `${line}\n`);
  const few = await gatherPlanFacts(await loadRecipe('gsm8k', held));
  expect(few.missing).toContainEqual({
    cause: 'DataError',
    message: 'evaluation.tasks: 128 tasks, but the evaluation set has 1',
  });
});
