/**
 * Corrections for another sampler against verl 0.9.1's rollout_corr_helper. verl adds 1e-8 to the denominators of its means, of
 * those over a row's tokens too: where rows are normalized, numbers agree to 1e-8, elsewhere to 2e-9.
 */
import { expect, it } from 'vitest';
import { importanceWeights } from '../../core/correction/importance-weights.ts';
import { mismatchMetrics, type MismatchRow } from '../../core/correction/mismatch.ts';
import { keptTokens, type RejectionRule } from '../../core/correction/rejection.ts';
import { verlVectors } from './verl-vectors.ts';

const { counts, proximalLogprobs, sampledLogprobs, ...expected } = verlVectors.corrections;

const rows = counts.map((count, row): MismatchRow => {
  const start = counts.slice(0, row).reduce((sum, before) => sum + before, 0);
  return {
    proximalLogprobsN: proximalLogprobs.slice(start, start + count),
    sampledLogprobsN: sampledLogprobs.slice(start, start + count),
  };
});

function expectClose(actual: ArrayLike<number>, wanted: readonly number[], precision = 2e-9): void {
  expect(actual).toHaveLength(wanted.length);
  wanted.forEach((value, i) =>
    expect(Math.abs(actual[i]! - value)).toBeLessThan(precision * Math.max(1, Math.abs(value))),
  );
}

it.each(expected.weights)(
  'weights of a $level between $lowest and $highest, normalized: $normalize',
  ({ level, lowest, highest, normalize, weights, effectiveSampleSize }) => {
    const outside = lowest === null ? 'truncate' : 'mask';
    const found = importanceWeights(rows, {
      level,
      outside,
      lowest: lowest ?? undefined,
      highest,
      normalize,
    });
    expectClose(
      found.weights.flatMap((weightsN) => Array.from(weightsN)),
      weights,
      normalize && level === 'sequence' ? 1e-8 : undefined,
    );
    expect(found.metrics['correction/effective_sample_share']).toBeCloseTo(effectiveSampleSize, 6);
  },
);

const places = { token: 'token', seq_sum: 'row-sum', seq_mean: 'row-mean', seq_max: 'row-max' } as const;

it.each(expected.rejections)(
  'tokens kept by $statistic within $threshold',
  ({ statistic, threshold, kept }) => {
    const [, place = '', estimator = ''] = /^(\w+)_(k\d)$/.exec(statistic) ?? [];
    const bounds = threshold.split('_').map(Number);
    const rule: RejectionRule = {
      over: places[place as keyof typeof places],
      estimator: estimator as RejectionRule['estimator'],
      ...(bounds.length === 2 ? { lowest: bounds[0]!, highest: bounds[1]! } : { highest: bounds[0]! }),
    };
    expectClose(
      keptTokens(rows, [rule]).flatMap((keptN) => Array.from(keptN)),
      kept,
    );
  },
);

it('metrics of the mismatch', () => {
  const { metrics } = expected;
  const found = mismatchMetrics(rows);
  const names = {
    'mismatch/kl': 'kl',
    'mismatch/k3': 'k3_kl',
    'mismatch/chi2_token': 'chi2_token',
    'mismatch/chi2_sequence': 'chi2_seq',
    'mismatch/log_perplexity_difference': 'log_ppl_diff',
  };
  expectClose(
    Object.keys(names).map((name) => found[name]!),
    Object.values(names).map((name) => metrics[name]!),
  );
});
