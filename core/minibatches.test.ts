import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planMinibatches } from './minibatches.ts';

const settings = { seed: 1, iteration: 2, epoch: 0, minibatchRows: 10, microbatchTokens: 64 };
const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 120 });
const sizes = fc.record({
  seed: fc.nat(),
  iteration: fc.nat(1000),
  epoch: fc.nat(5),
  minibatchRows: fc.integer({ min: 1, max: 50 }),
  microbatchTokens: fc.integer({ min: 1, max: 400 }),
});

describe('planMinibatches', () => {
  it('trains every row exactly once an epoch', () => {
    fc.assert(
      fc.property(lengths, sizes, (rowLengthsR, chosen) => {
        const minibatches = planMinibatches(rowLengthsR, chosen);
        const trained = minibatches.flatMap(({ microbatches }) => microbatches.flat());
        expect(trained.toSorted((a, b) => a - b)).toEqual([...rowLengthsR.keys()]);
        for (const { rows, microbatches } of minibatches) expect(rows).toEqual(microbatches.flat());
      }),
    );
  });

  it('makes the fewest minibatches of at most minibatchRows rows, equal to within one row', () => {
    fc.assert(
      fc.property(lengths, sizes, (rowLengthsR, chosen) => {
        const rowCounts = planMinibatches(rowLengthsR, chosen).map(({ rows }) => rows.length);
        expect(rowCounts).toHaveLength(Math.ceil(rowLengthsR.length / chosen.minibatchRows));
        if (rowCounts.length === 0) return;
        expect(Math.max(...rowCounts)).toBeLessThanOrEqual(chosen.minibatchRows);
        expect(Math.max(...rowCounts) - Math.min(...rowCounts)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('keeps microbatches within the padded-token budget, but for a row that alone exceeds it', () => {
    fc.assert(
      fc.property(lengths, sizes, (rowLengthsR, chosen) => {
        for (const microbatch of planMinibatches(rowLengthsR, chosen).flatMap((m) => m.microbatches)) {
          const longest = Math.max(...microbatch.map((row) => rowLengthsR[row]!));
          const padded = microbatch.length * longest;
          expect(microbatch.length === 1 || padded <= chosen.microbatchTokens).toBe(true);
        }
      }),
    );
  });

  it('sorts rows by length within a minibatch, so that lengths mix in no microbatch needlessly', () => {
    const [minibatch] = planMinibatches([3, 30, 4, 31, 5, 32], { ...settings, microbatchTokens: 96 });
    expect(minibatch!.microbatches).toEqual([
      [5, 3, 1],
      [4, 2, 0],
    ]);
  });

  it('is the same for the same coordinates and another for another seed, iteration or epoch', () => {
    const rowLengthsR = Array.from({ length: 40 }, (_, i) => 5 + (i % 7));
    const plan = (changed: Partial<typeof settings>) =>
      planMinibatches(rowLengthsR, { ...settings, ...changed });
    expect(plan({})).toEqual(plan({}));
    for (const changed of [{ seed: 2 }, { iteration: 3 }, { epoch: 1 }])
      expect(plan(changed)).not.toEqual(plan({}));
  });

  it('makes no minibatch of no rows', () => {
    expect(planMinibatches([], settings)).toEqual([]);
  });
});
