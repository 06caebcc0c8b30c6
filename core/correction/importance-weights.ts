import type { Metrics } from '../records.ts';
import { cutLogRatio, logRatiosOf, sum, type MismatchRow } from './mismatch.ts';

export interface ImportanceSettings {
  /**
   * What a weight is the ratio of: a token; a whole row (the product of its tokens' ratios); or, `geometric`, their geometric mean. All
   * tokens of a row then have its weight.
   */
  level: 'token' | 'sequence' | 'geometric';
  /** What becomes of weights outside of the bounds: cut to them, or 0. */
  outside: 'truncate' | 'mask';
  lowest?: number | undefined;
  highest: number;
  /** Divide by the mean weight, of tokens or of rows. */
  normalize: boolean;
}

/**
 * Weights that correct the policy term for tokens that another policy sampled, proximal / sampler. `truncate` with an upper bound is
 * truncated importance sampling (TIS; Ionides 2008, and Yao et al., "Your Efficient RL Framework Secretly Brings You Off-Policy RL
 * Training", 2025), with both bounds a clip; `mask` with both is IcePop (Ling team, "Small Leak Can Sink a Great Ship", 2025).
 * Metrics: `correction/weight_mean`, `correction/outside_fraction` and `correction/effective_sample_share`, over tokens.
 */
export function importanceWeights(
  rows: readonly MismatchRow[],
  settings: ImportanceSettings,
): { weights: Float64Array[]; metrics: Metrics } {
  const raw = rows.map((row) => ratiosOf(logRatiosOf(row), settings.level));
  const bounded = raw.map((weightsN) => weightsN.map((weight) => bound(weight, settings)));
  const tokens = bounded.flatMap((weightsN) => Array.from(weightsN));
  const isOutside =
    ({ lowest = 0, highest }: ImportanceSettings) =>
    (weight: number) =>
      Number(weight < lowest || weight > highest);
  const outside = raw.flatMap((weightsN) => Array.from(weightsN, isOutside(settings)));
  const mean = sum(tokens) / Math.max(1, tokens.length);
  const squares = sum(tokens.map((weight) => weight ** 2)) / Math.max(1, tokens.length);
  return {
    weights: settings.normalize ? normalized(bounded, settings.level) : bounded,
    metrics: {
      'correction/weight_mean': mean,
      'correction/outside_fraction': sum(outside) / Math.max(1, tokens.length),
      'correction/effective_sample_share': squares > 0 ? mean ** 2 / squares : 0,
    },
  };
}

function ratiosOf(logRatiosN: Float64Array, level: ImportanceSettings['level']): Float64Array {
  if (level === 'token') return logRatiosN.map((logRatio) => Math.exp(cutLogRatio(logRatio)));
  const total = sum(logRatiosN);
  const logRatio = level === 'sequence' ? total : total / Math.max(1, logRatiosN.length);
  return logRatiosN.map(() => Math.exp(cutLogRatio(logRatio)));
}

function bound(weight: number, { outside, lowest = 0, highest }: ImportanceSettings): number {
  if (weight >= lowest && weight <= highest) return weight;
  return outside === 'mask' ? 0 : Math.min(Math.max(weight, lowest), highest);
}

function normalized(weights: readonly Float64Array[], level: ImportanceSettings['level']): Float64Array[] {
  const present = weights.filter((weightsN) => weightsN.length > 0);
  const counted =
    level === 'token'
      ? present.flatMap((weightsN) => Array.from(weightsN))
      : present.map(([weight]) => weight!);
  const mean = sum(counted) / counted.length;
  return mean > 0 ? weights.map((weightsN) => weightsN.map((weight) => weight / mean)) : [...weights];
}
