/**
 * Aggregation of per-token losses as one weight per token: the loss of a minibatch is the sum over its trained tokens of
 * weight times token loss. Denominators are counted over the whole minibatch, so microbatches add up to the same gradient
 * however the minibatch is cut. A row without trained tokens has weight 0 and is in no denominator.
 */
import type { AlgorithmSettings } from './recipe.ts';

export type Aggregation = AlgorithmSettings['aggregation'];

/**
 * The weight of each trained token of each of R rows.
 * - `token-mean`: 1 / all trained tokens (DAPO, arXiv 2503.14476, equation 8).
 * - `sequence-mean-token-mean`: 1 / (rows * trained tokens of the row) (GRPO, arXiv 2402.03300, equation 3).
 * - `sequence-mean-token-sum`: 1 / rows.
 */
export function tokenWeights(kind: Aggregation, trainedTokenCountsR: readonly number[]): number[] {
  let tokens = 0;
  let rows = 0;
  for (const count of trainedTokenCountsR) {
    tokens += count;
    if (count > 0) rows++;
  }
  return trainedTokenCountsR.map((count) => {
    if (count === 0) return 0;
    if (kind === 'token-mean') return 1 / tokens;
    return kind === 'sequence-mean-token-mean' ? 1 / (rows * count) : 1 / rows;
  });
}
