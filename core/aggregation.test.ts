import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tokenWeights } from './aggregation.ts';

const counts = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 20 });

function total(kind: Parameters<typeof tokenWeights>[0], trainedTokenCountsR: number[]): number {
  const weightsR = tokenWeights(kind, trainedTokenCountsR);
  return weightsR.reduce((sum, weight, row) => sum + weight * trainedTokenCountsR[row]!, 0);
}

describe('tokenWeights', () => {
  it('agrees with three rows worked out by hand', () => {
    const trainedTokenCountsR = [1, 3, 4];
    expect(tokenWeights('token-mean', trainedTokenCountsR)).toEqual([1 / 8, 1 / 8, 1 / 8]);
    expect(tokenWeights('sequence-mean-token-mean', trainedTokenCountsR)).toEqual([1 / 3, 1 / 9, 1 / 12]);
    expect(tokenWeights('sequence-mean-token-sum', trainedTokenCountsR)).toEqual([1 / 3, 1 / 3, 1 / 3]);
  });

  it('makes means whose weights sum to 1 over the minibatch, rows without trained tokens left out', () => {
    fc.assert(
      fc.property(counts, (trainedTokenCountsR) => {
        fc.pre(trainedTokenCountsR.some((count) => count > 0));
        expect(total('token-mean', trainedTokenCountsR)).toBeCloseTo(1, 12);
        expect(total('sequence-mean-token-mean', trainedTokenCountsR)).toBeCloseTo(1, 12);
        const rows = trainedTokenCountsR.filter((count) => count > 0);
        const meanLength = rows.reduce((a, b) => a + b) / rows.length;
        expect(total('sequence-mean-token-sum', trainedTokenCountsR)).toBeCloseTo(meanLength, 10);
      }),
    );
  });

  it('gives finite weights for rows without trained tokens, and for none but such', () => {
    for (const kind of ['token-mean', 'sequence-mean-token-mean', 'sequence-mean-token-sum'] as const) {
      expect(tokenWeights(kind, [0, 2])).toEqual([0, kind === 'sequence-mean-token-sum' ? 1 : 0.5]);
      expect(tokenWeights(kind, [0, 0])).toEqual([0, 0]);
      expect(tokenWeights(kind, [])).toEqual([]);
    }
  });
});
