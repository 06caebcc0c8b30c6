/**
 * How far the policy that sampled is from the one that the update starts from (the proximal policy), whether by another version, another
 * engine or other arithmetic. Log-ratios are log proximal - log sampler, of the N trained tokens of each row.
 */
import type { Metrics } from '../records.ts';

export interface MismatchRow {
  proximalLogprobsN: ArrayLike<number>;
  /** The sampler's, at its temperature. */
  sampledLogprobsN: ArrayLike<number>;
}

/** Log-ratios beyond this are cut before they are exponentiated. */
const largestLogRatio = 20;

export function cutLogRatio(logRatio: number): number {
  return Math.min(Math.max(logRatio, -largestLogRatio), largestLogRatio);
}

export function logRatiosOf({ proximalLogprobsN, sampledLogprobsN }: MismatchRow): Float64Array {
  return Float64Array.from(proximalLogprobsN, (logprob, n) => logprob - sampledLogprobsN[n]!);
}

/**
 * Always measured, before anything is corrected: `mismatch/kl`, the mean over tokens of -log-ratio (k1 of KL(sampler || proximal));
 * `mismatch/k3`, its k3; `mismatch/abs_difference`, the mean of |log-ratio|; `mismatch/max_difference`; `mismatch/chi2_token`, the mean
 * of ratio² less 1, and `mismatch/chi2_sequence`, that of whole rows; `mismatch/log_perplexity_difference`, the mean over rows of
 * the mean of -log-ratio. Empty when no token is trained.
 */
export function mismatchMetrics(rows: readonly MismatchRow[]): Metrics {
  const ratios = rows.map(logRatiosOf).filter((logRatiosN) => logRatiosN.length > 0);
  const all = ratios.flatMap((logRatiosN) => Array.from(logRatiosN));
  if (all.length === 0) return {};
  const squared = (logRatio: number): number => Math.exp(cutLogRatio(logRatio)) ** 2;
  return {
    'mismatch/kl': -mean(all),
    'mismatch/k3': mean(all.map((d) => Math.exp(cutLogRatio(d)) - cutLogRatio(d) - 1)),
    'mismatch/abs_difference': mean(all.map(Math.abs)),
    'mismatch/max_difference': all.reduce((most, d) => Math.max(most, Math.abs(d)), 0),
    'mismatch/chi2_token': mean(all.map(squared)) - 1,
    'mismatch/chi2_sequence': mean(ratios.map((logRatiosN) => squared(sum(logRatiosN)))) - 1,
    'mismatch/log_perplexity_difference': -mean(
      ratios.map((logRatiosN) => sum(logRatiosN) / logRatiosN.length),
    ),
  };
}

export function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i]!;
  return total;
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}
