/** The promise of the product, in short: `npm run test:durability` has all of it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFaultyStack, tinyRecipe, type FaultyStack } from './faulty-stack.ts';
import { coveringCells, durabilities, runCells, type Cell } from './matrix.ts';
import { runWithFault } from './other-fault.ts';
import { coveringFaults } from './other-faults.ts';
import { passed } from './outcome.ts';
import { iterationsForKills, runWithRandomKills } from './random-kills.ts';
import { undisturbedWeights } from './undisturbed.ts';

let stack: FaultyStack;
let undisturbed: string[];
beforeAll(async () => {
  stack = await startFaultyStack();
  undisturbed = await undisturbedWeights(stack, tinyRecipe, 'undisturbed', 3);
});
afterAll(() => stack.stop());

describe('a run ends with the weights of an undisturbed one, and its audit finds nothing', () => {
  test.each(durabilities)('by %s, whatever is killed at whatever boundary', async (durability) => {
    const cells = coveringCells().filter((cell) => cell.durability === durability);
    const outcomes = await runCells(stack, `killed-${durability}`, cells, undisturbed);
    expect(outcomes.filter((outcome) => !passed(outcome))).toEqual([]);
  });

  test('that trains an adapter with a KL term, when trainer and engine die in an update', async () => {
    const set = [
      'adapter={rank: 4, alpha: 8}',
      'algorithm.kl={coefficient: 0.01}',
      'training.checkpointing=true',
    ];
    const alone = await undisturbedWeights(stack, tinyRecipe, 'adapter-alone', 2, set);
    const update = { durability: 'shard', activity: 'updateActor' } as const;
    const cells: Cell[] = [
      { ...update, boundary: 'before-artifact', victim: 'train' },
      { ...update, boundary: 'after-artifact', victim: 'engine' },
    ];
    const outcomes = await runCells(stack, 'adapter-killed', cells, alone, set);
    expect(outcomes.filter((outcome) => !passed(outcome))).toEqual([]);
  });

  test('after kills at random', async () => {
    const kills = 4;
    expect(iterationsForKills(kills)).toBe(undisturbed.length);
    const plan = { recipe: tinyRecipe, durability: 'shard', kills, seed: 1 } as const;
    const outcomes = await runWithRandomKills(stack, plan, undisturbed);
    expect(outcomes.filter((outcome) => !passed(outcome))).toEqual([]);
  });

  test.each(coveringFaults(10))('after: $name', async (fault) => {
    expect(await runWithFault(stack, fault, undisturbed)).toSatisfy(passed);
  });
}, 180_000);
