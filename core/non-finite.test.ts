import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryWith } from '../tests/fixtures/log-entry.ts';
import { hyperparametersAfter, refusalStops } from './non-finite.ts';
import type { Recipe } from './recipe.ts';

type OnNonFinite = Recipe['training']['onNonFinite'];

function settings(onNonFinite: OnNonFinite, backoff?: { factor: number; floor: number }) {
  const optimizer = { learningRate: 0.1 } as Recipe['training']['optimizer'];
  return { training: { onNonFinite, optimizer, ...(backoff && { learningRateBackoff: backoff }) } };
}
const refusedAt = (learningRate?: number) =>
  entryWith({
    kind: 'reinforcement',
    update: 'refused',
    hyperparameters: learningRate === undefined ? {} : { learningRate },
  });

test('a refused update halves the rate it was made with, and leaves other settings alone', () => {
  const lowered = settings('lower-learning-rate');
  expect(hyperparametersAfter(refusedAt(), lowered, { temperature: 0.9 })).toEqual({
    temperature: 0.9,
    learningRate: 0.05,
  });
});

test('following an entry twice lowers nothing twice, and never raises a rate or goes below the floor', () => {
  const rate = fc.double({ min: 1e-6, max: 1, noNaN: true });
  fc.assert(
    fc.property(
      rate,
      rate,
      rate,
      fc.double({ min: 0.1, max: 0.9, noNaN: true }),
      (used, now, floor, factor) => {
        const lowering = settings('lower-learning-rate', { factor, floor });
        const once = hyperparametersAfter(refusedAt(used), lowering, { learningRate: now });
        expect(hyperparametersAfter(refusedAt(used), lowering, once)).toEqual(once);
        expect(once.learningRate).toBeLessThanOrEqual(now);
        expect(once.learningRate).toBeGreaterThanOrEqual(Math.min(now, floor));
      },
    ),
  );
});

test('repeated refusals end at the floor', () => {
  const lowering = settings('lower-learning-rate', { factor: 0.5, floor: 1e-3 });
  let inForce = {};
  for (let i = 0; i < 20; i++) {
    const { learningRate } = inForce as { learningRate?: number };
    inForce = hyperparametersAfter(refusedAt(learningRate), lowering, inForce);
  }
  expect(inForce).toEqual({ learningRate: 1e-3 });
});

test('with another policy, or after an update that was applied, nothing is lowered', () => {
  expect(hyperparametersAfter(refusedAt(), settings('skip'), {})).toEqual({});
  const applied = entryWith({ kind: 'reinforcement', update: 'applied' });
  expect(hyperparametersAfter(applied, settings('lower-learning-rate'), {})).toEqual({});
});

test('a refusal ends the run only where the recipe says so', () => {
  expect(refusalStops(refusedAt(), settings('stop'))).toContain('was not finite');
  expect(refusalStops(refusedAt(), settings('skip'))).toBeUndefined();
});
