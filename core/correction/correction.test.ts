import { describe, expect, it } from 'vitest';
import { importanceWeights, type ImportanceSettings } from './importance-weights.ts';
import { mismatchMetrics } from './mismatch.ts';
import { keptTokens } from './rejection.ts';

/** A row whose tokens have these ratios proximal / sampler. */
function row(...ratiosN: number[]) {
  return {
    proximalLogprobsN: ratiosN.map((ratio) => Math.log(ratio) - 1),
    sampledLogprobsN: ratiosN.map(() => -1),
  };
}

function weights(rows: ReturnType<typeof row>[], settings: Partial<ImportanceSettings>): number[][] {
  const all: ImportanceSettings = {
    level: 'token',
    outside: 'truncate',
    highest: 2,
    normalize: false,
    ...settings,
  };
  const rounded = (value: number): number => Number(value.toFixed(9));
  return importanceWeights(rows, all).weights.map((weightsN) => Array.from(weightsN, rounded));
}

describe('importance weights', () => {
  it('are cut at the bounds, or 0 outside of them', () => {
    expect(weights([row(0.1, 1, 4)], {})).toEqual([[0.1, 1, 2]]);
    expect(weights([row(0.1, 1, 4)], { lowest: 0.5 })).toEqual([[0.5, 1, 2]]);
    expect(weights([row(0.1, 1, 4)], { lowest: 0.5, outside: 'mask' })).toEqual([[0, 1, 0]]);
  });

  it('of a row are the product of its ratios, or their geometric mean', () => {
    expect(weights([row(0.5, 3), row()], { level: 'sequence' })).toEqual([[1.5, 1.5], []]);
    expect(weights([row(0.5, 2), row(4, 4)], { level: 'geometric', highest: 3 })).toEqual([
      [1, 1],
      [3, 3],
    ]);
  });

  it('are normalized to a mean of 1 over tokens, or over rows', () => {
    expect(weights([row(0.5, 1), row(1.5)], { normalize: true })).toEqual([[0.5, 1], [1.5]]);
    expect(weights([row(0.5, 1), row(1.5)], { normalize: true, level: 'sequence' })).toEqual([
      [0.5, 0.5],
      [1.5],
    ]);
  });

  it('of an engine that samples as it trains are all 1', () => {
    for (const level of ['token', 'sequence', 'geometric'] as const)
      expect(weights([row(1, 1, 1)], { level, normalize: true })).toEqual([[1, 1, 1]]);
  });

  it('say how many samples they are worth: all when equal, one in two when half are 0', () => {
    const share = (rows: ReturnType<typeof row>[]): number | undefined =>
      importanceWeights(rows, {
        level: 'token',
        outside: 'mask',
        lowest: 0.9,
        highest: 1.1,
        normalize: false,
      }).metrics['correction/effective_sample_share'];
    expect(share([row(1, 1)])).toBeCloseTo(1, 12);
    expect(share([row(1, 5)])).toBeCloseTo(0.5, 12);
    expect(share([row(5, 5)])).toBe(0);
  });
});

describe('rejection', () => {
  it('takes tokens by themselves, or rows as a whole', () => {
    const rows = [row(1, 3), row(1, 1)];
    const kept = (over: 'token' | 'row-max') =>
      keptTokens(rows, [{ over, estimator: 'k2', highest: 0.5 }]).map((keptN) => Array.from(keptN));
    expect(kept('token')).toEqual([
      [1, 0],
      [1, 1],
    ]);
    expect(kept('row-max')).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });

  it('vetoes a row with a token that the proximal policy would hardly have sampled', () => {
    expect(keptTokens([row(1, 1e-5), row(1e-3)], [], 1e-4)).toEqual([Uint8Array.of(0, 0), Uint8Array.of(1)]);
  });
});

it('without mismatch every metric of it is 0, and without tokens there are none', () => {
  for (const value of Object.values(mismatchMetrics([row(1, 1), row(1)]))) expect(value).toBeCloseTo(0, 12);
  expect(mismatchMetrics([row()])).toEqual({});
});
