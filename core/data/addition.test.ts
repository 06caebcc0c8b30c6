import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { additionDataSet, additionLengths, heldOutCount, isHeldOut } from './addition.ts';

const digits = fc.integer({ min: 1, max: 6 });
const seed = fc.integer({ min: 0, max: 0xffff_ffff });
const coordinate = fc.integer({ min: 0, max: 1_000_000 });

function operandsOf(prompt: string): { a: number; b: number } {
  const [, a, b] = /^(\d+)\+(\d+)=$/.exec(prompt)!;
  return { a: Number(a), b: Number(b) };
}

test('prompts hold two numbers of the given length, answers their sum, within the stated lengths', () => {
  fc.assert(
    fc.property(digits, seed, coordinate, (length, runSeed, cursor) => {
      const { prompt, answer } = additionDataSet(length, 'train', runSeed).taskAt(cursor);
      const { a, b } = operandsOf(prompt);
      expect([String(a).length, String(b).length]).toEqual([length, length]);
      expect(answer).toBe(String(a + b));
      expect(prompt.length).toBe(additionLengths(length).prompt);
      expect(answer.length + 1).toBeLessThanOrEqual(additionLengths(length).response);
    }),
  );
});

test('no held-out pair, in either order, is ever drawn for training or warm start', () => {
  fc.assert(
    fc.property(digits, seed, coordinate, coordinate, (length, runSeed, cursor, row) => {
      const data = additionDataSet(length, 'train', runSeed);
      for (const prompt of [data.taskAt(cursor).prompt, data.exampleAt(cursor, row).prompt]) {
        const { a, b } = operandsOf(prompt);
        expect(isHeldOut({ a, b }) || isHeldOut({ a: b, b: a })).toBe(false);
      }
    }),
    { numRuns: 1000 },
  );
});

test('a task depends on seed and cursor alone, and its id on the cursor', () => {
  const data = additionDataSet(3, 'train', 7);
  const forwards = Array.from({ length: 50 }, (_, cursor) => data.taskAt(cursor));
  const backwards = Array.from({ length: 50 }, (_, i) =>
    additionDataSet(3, 'train', 7).taskAt(49 - i),
  ).reverse();
  expect(backwards).toEqual(forwards);
  expect(new Set(forwards.map((task) => task.id)).size).toBe(50);
  expect(additionDataSet(3, 'train', 8).taskAt(0)).not.toEqual(forwards[0]);
});

test('warm-start examples are the sum itself, fresh for every step and row', () => {
  const data = additionDataSet(3, 'train', 1);
  const { prompt, response } = data.exampleAt(2, 5);
  const { a, b } = operandsOf(prompt);
  expect(response).toBe(String(a + b));
  expect(data.exampleAt(2, 6)).not.toEqual(data.exampleAt(2, 5));
  expect(data.exampleAt(3, 5)).not.toEqual(data.exampleAt(2, 5));
});

describe('the evaluation set', () => {
  test('holds distinct held-out problems, the same for every run seed', () => {
    const data = additionDataSet(3, 'evaluation', 1);
    const tasks = Array.from({ length: 512 }, (_, cursor) => data.taskAt(cursor));
    expect(new Set(tasks.map((task) => task.prompt)).size).toBe(512);
    expect(tasks.every((task) => isHeldOut(operandsOf(task.prompt)))).toBe(true);
    expect(additionDataSet(3, 'evaluation', 2).taskAt(511)).toEqual(tasks[511]);
  });

  test('is about a tenth of all problems, every one is reached, and past its end is an error', () => {
    const count = heldOutCount(2)!;
    expect(count / 8100).toBeGreaterThan(0.09);
    expect(count / 8100).toBeLessThan(0.11);
    const data = additionDataSet(2, 'evaluation', 1);
    expect(data.size).toBe(count);
    const prompts = Array.from({ length: count }, (_, cursor) => data.taskAt(cursor).prompt);
    expect(new Set(prompts).size).toBe(count);
    expect(() => data.taskAt(count)).toThrow(`addition with 2 digits has ${count} held-out problems`);
  });

  test('treats both orders of a pair alike', () => {
    const operand = fc.integer({ min: 1, max: 999_999 });
    fc.assert(fc.property(operand, operand, (a, b) => isHeldOut({ a, b }) === isHeldOut({ a: b, b: a })));
  });
});
