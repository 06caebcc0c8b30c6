/** The plain `temporal` commands of the documentation against what workflows understand. */
import { describe, expect, it } from 'vitest';
import * as workflows from '../../workflows/index.ts';
import * as steering from '../../workflows/steering.ts';
import { trainRunInputSchema } from '../../core/contracts.ts';
import { taskQueues } from '../../core/ids.ts';
import { hyperparametersSchema } from '../../core/recipe.ts';
import { searchAttributes } from '../../core/search-attributes.ts';
import { loadRecipe } from '../../activities/recipe/load-recipe.ts';
import { commandLines, optionValues } from './command-lines.ts';
import { pages } from './pages.ts';

const lines = pages.flatMap(commandLines).filter(({ program }) => program === 'temporal');
const linesOf = (...words: string[]) =>
  lines.filter(({ args }) => words.every((word, i) => args[i] === word));
const only = (args: string[], option: string): string => optionValues(args, option)[0]!;

describe('temporal commands in the documentation', () => {
  it.each(linesOf('workflow', 'start'))('start a workflow that exists ($where)', async ({ args }) => {
    expect(workflows).toHaveProperty(only(args, '--type'));
    expect(Object.values(taskQueues)).toContain(only(args, '--task-queue'));
    expect(only(args, '--workflow-id')).toMatch(/^train-/);
    const input = trainRunInputSchema.parse(JSON.parse(only(args, '--input')));
    if (input.recipe !== undefined)
      await expect(loadRecipe(input.recipe, input.set)).resolves.toHaveProperty('name');
  });

  it.each(linesOf('workflow', 'query'))('send a query that exists ($where)', ({ args }) => {
    expect(Object.values(steering)).toContainEqual(
      expect.objectContaining({ type: 'query', name: only(args, '--type') }),
    );
  });

  it.each(linesOf('workflow', 'update', 'execute'))('send an update that exists ($where)', ({ args }) => {
    const name = only(args, '--name');
    expect(Object.values(steering)).toContainEqual(expect.objectContaining({ type: 'update', name }));
    if (name === 'setHyperparameters') hyperparametersSchema.parse(JSON.parse(only(args, '--input')));
  });

  it('register the search attributes of a run, each with its type', () => {
    const added = linesOf('operator', 'search-attribute', 'create').map(({ args }) => [
      only(args, '--name'),
      only(args, '--type'),
    ]);
    expect(Object.fromEntries(added)).toEqual(searchAttributes);
  });

  it.each(linesOf('workflow', 'list'))('ask for search attributes that exist ($where)', ({ args }) => {
    for (const [name] of only(args, '--query').matchAll(/Rekindle\w+/g))
      expect(Object.keys(searchAttributes)).toContain(name);
  });
});
