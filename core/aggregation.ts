/**
 * Aggregation of per-token losses as one weight per token: the loss of a minibatch is the sum over its trained tokens of
 * weight times token loss. Denominators are counted over the whole minibatch, so microbatches add up to the same gradient
 * however the minibatch is cut. A row without trained tokens has weight 0 and is in no denominator. Rows that one rollout was split
 * into count as one sequence.
 */
import type { aggregationNames } from './algorithm.ts';

export type Aggregation = (typeof aggregationNames)[number];

export interface AggregationOptions {
  /** For `sequence-mean-token-sum-norm`: the constant that sums over tokens are divided by. Default 1. */
  constantLength?: number;
  /** Which rollout each row belongs to; each row is one of its own when not given. */
  rolloutsR?: readonly string[];
}

/**
 * The weight of each trained token of each of R rows.
 * - `token-mean`: 1 / all trained tokens (DAPO, arXiv 2503.14476, equation 8).
 * - `token-sum`: 1.
 * - `sequence-mean-token-mean`: 1 / (sequences * trained tokens of the sequence) (GRPO, arXiv 2402.03300, equation 3).
 * - `sequence-mean-token-sum`: 1 / sequences.
 * - `sequence-mean-token-sum-norm`: 1 / (sequences * constantLength) (Dr. GRPO, arXiv 2503.20783, listing 1).
 */
export function tokenWeights(
  kind: Aggregation,
  trainedTokenCountsR: readonly number[],
  { constantLength = 1, rolloutsR }: AggregationOptions = {},
): number[] {
  const rolloutOf = (row: number): string => rolloutsR?.[row] ?? String(row);
  const tokensOf = new Map<string, number>();
  let tokens = 0;
  trainedTokenCountsR.forEach((count, row) => {
    if (count === 0) return;
    tokens += count;
    tokensOf.set(rolloutOf(row), (tokensOf.get(rolloutOf(row)) ?? 0) + count);
  });
  const sequences = tokensOf.size;
  return trainedTokenCountsR.map((count, row) => {
    if (count === 0) return 0;
    switch (kind) {
      case 'token-mean':
        return 1 / tokens;
      case 'token-sum':
        return 1;
      case 'sequence-mean-token-mean':
        return 1 / (sequences * tokensOf.get(rolloutOf(row))!);
      case 'sequence-mean-token-sum':
        return 1 / sequences;
      case 'sequence-mean-token-sum-norm':
        return 1 / (sequences * constantLength);
    }
  });
}
