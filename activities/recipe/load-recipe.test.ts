import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RekindleError } from '../../core/errors.ts';
import type { RecipeMap } from '../../core/recipe-merge.ts';
import { loadRecipe } from './load-recipe.ts';
import { builtInRecipes } from './recipe-file.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rekindle-recipes-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function write(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
  return path;
}

async function refusal(source: string | RecipeMap, overrides: string[] = []): Promise<RekindleError> {
  const error: unknown = await loadRecipe(source, overrides, folder).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(RekindleError);
  expect((error as RekindleError).kind).toBe('RecipeError');
  return error as RekindleError;
}

test.each(await builtInRecipes())('the recipe %s that comes with the package is sound', async (name) => {
  expect((await loadRecipe(name)).name).toBe(name);
});

test('a misspelt name gets the recipe that was meant, and all there are', async () => {
  const error = await refusal('quikstart');
  expect(error.message).toContain(
    'no recipe is named "quikstart"; expected one of gsm8k, gsm8k-lora, number-guess, quickstart, smoke, smoke-attempts',
  );
  expect(error.hint).toBe('Did you mean quickstart?');
});

test('a file that does not exist is named', async () => {
  expect((await refusal('./absent.yaml')).message).toBe(
    `recipe file ${join(folder, 'absent.yaml')} does not exist`,
  );
});

describe('YAML', () => {
  test('that is broken is refused with line and column', async () => {
    const path = await write('broken.yaml', 'name: x\nrollout: {groupSize: 4\nseed: 1\n');
    expect((await refusal(path)).message).toMatch(`${path}:3:`);
  });

  test('an alias without its anchor is a recipe error that names the file', async () => {
    const path = await write('alias.yaml', 'name: *nowhere\n');
    expect((await refusal(path)).message).toContain(`${path}: Unresolved alias`);
  });

  test('with a key given twice is refused with its place', async () => {
    const path = await write('twice.yaml', 'name: x\nseed: 1\nseed: 2\n');
    expect((await refusal(path)).message).toContain(`${path}:3:1: Map keys must be unique`);
  });

  test.each([
    ['', 'nothing'],
    ['- a\n', 'a list'],
    ['quickstart\n', '"quickstart"'],
  ])('that is not a mapping (%j) is refused', async (text, found) => {
    const path = await write('scalar.yaml', text);
    expect((await refusal(path)).message).toBe(
      `${path}: expected a mapping of keys to values, found ${found}`,
    );
  });
});

describe('extends', () => {
  test('changes a recipe by name or path, over any number of files', async () => {
    await write('base.yaml', 'extends: smoke\nname: base\nseed: 5\nwarmStart: null\n');
    const path = await write('top.yaml', 'extends: base.yaml\nname: top\nrollout: {temperature: 0.5}\n');
    const recipe = await loadRecipe(path);
    const smoke = await loadRecipe('smoke');
    expect(recipe).toEqual({
      ...smoke,
      name: 'top',
      description: smoke.description,
      seed: 5,
      warmStart: undefined,
      rollout: { ...smoke.rollout, temperature: 0.5 },
    });
  });

  test('in a circle is refused, and the circle shown', async () => {
    const a = await write('a.yaml', 'extends: ./b.yaml\n');
    const b = await write('b.yaml', 'extends: ./a.yaml\n');
    expect((await refusal(a)).message).toBe(`recipes extend each other in a circle: ${a} → ${b} → ${a}`);
  });

  test('must be a name or path', async () => {
    const path = await write('odd.yaml', 'extends: [smoke]\n');
    expect((await refusal(path)).message).toBe(
      `${path}: extends: ["smoke"]; expected a recipe's name or path`,
    );
  });
});

describe('paths', () => {
  const gsm8k =
    'extends: gsm8k\ndata: {train: {hub: null, path: rows.jsonl}}\nmodel: {hub: null, path: model}\n';

  test('in a file are relative to that file, also when another file extends it', async () => {
    await write('nested/base.yaml', gsm8k);
    const recipe = await loadRecipe(await write('top.yaml', 'extends: nested/base.yaml\nseed: 3\n'));
    expect(recipe.data.train).toMatchObject({ path: join(folder, 'nested', 'rows.jsonl') });
    expect(recipe.model.path).toBe(join(folder, 'nested', 'model'));
  });

  test('in overrides and in objects are relative to the folder that is given', async () => {
    const overridden = await loadRecipe(await write('nested/base.yaml', gsm8k), ['model.path=other'], folder);
    expect(overridden.model.path).toBe(join(folder, 'other'));
    const inline = await loadRecipe({ extends: 'gsm8k', model: { hub: null, path: 'mine' } }, [], folder);
    expect(inline.model.path).toBe(join(folder, 'mine'));
  });
});

test('overrides come last, and a resolved recipe loads as itself', async () => {
  const recipe = await loadRecipe('smoke', ['rollout.groupSize=8', 'training.optimizer.learningRate=1e-4']);
  expect(recipe.rollout.groupSize).toBe(8);
  expect(recipe.training.optimizer.learningRate).toBe(1e-4);
  expect(await loadRecipe(recipe)).toEqual(recipe);
});

test('problems name the recipe and come all at once', async () => {
  const path = await write('bad.yaml', 'extends: smoke\nname: bad\nsed: 1\nalgorithm: {loss: {kind: ppo}}\n');
  const { message, exitCode } = await refusal(path);
  expect(message).toContain(`recipe ${path}: 2 problems`);
  expect(message).toContain('algorithm.loss.kind: "ppo"; expected one of ppo-clip, gspo');
  expect(message).toContain('sed: unknown key; did you mean seed?');
  expect(exitCode).toBe(2);
});
