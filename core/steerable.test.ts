import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hyperparametersSchema } from './recipe.ts';
import { steerable, steeringProblem, type Steerable } from './steerable.ts';

const names = Object.keys(steerable) as Steerable[];

test('what steering accepts, the activities accept too, and nothing else', () => {
  const values = fc.oneof(fc.double(), fc.constantFrom(0, 1e-7, 1e-6, 0.99, 1, 100, 101, -1, '1', null));
  fc.assert(
    fc.property(fc.constantFrom(...names), values, (name, value) => {
      const accepted = hyperparametersSchema.safeParse({ [name]: value }).success;
      expect(steeringProblem(name, value) === undefined).toBe(accepted);
    }),
  );
});

test('a problem names the value and what was expected', () => {
  expect(steeringProblem('temperature', 1e-9)).toBe(
    'expected a positive number, from 0.000001 and at most 100, found 1e-9',
  );
  expect(steeringProblem('toString', 1)).toContain('cannot be changed during a run');
});
