/** The promise of the product, in short: `npm run test:durability` has all of it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFaultyStack, type FaultyStack } from './faulty-stack.ts';
import { coveringCells, durabilities, passed, runCells, undisturbedWeights } from './matrix.ts';

let stack: FaultyStack;
let undisturbed: string[];
beforeAll(async () => {
  stack = await startFaultyStack();
  undisturbed = await undisturbedWeights(stack, 3);
});
afterAll(() => stack.stop());

describe('a run whose processes are killed at the boundaries of its activities', () => {
  test.each(durabilities)('by %s ends with the weights of an undisturbed one', async (durability) => {
    const cells = coveringCells().filter((cell) => cell.durability === durability);
    const results = await runCells(stack, `killed-${durability}`, cells, undisturbed);
    expect(results.filter((result) => !passed(result))).toEqual([]);
    expect(results).toHaveLength(7);
  });
}, 400_000);
