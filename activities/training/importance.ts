/**
 * Learning from over-stale rows: ratios are taken to the policy that learns, and each token is weighted by how much likelier that
 * policy makes it than the one that sampled, with a cap:
 *
 *   min(exp(log p_parent - log p_behaviour), cap) * policy term, with log p_parent as the old log-probs
 *
 * The truncated importance weight of IMPALA (Espeholt et al., arXiv 1802.01561, section 4.1), with the decoupled objective of
 * Hilton et al., "Batch size-invariance for policy optimization", arXiv 2110.00641, equation 4.
 */
import type { Engine } from '../../gpu/engine-port.ts';
import { packRows, type PackedRow } from './row-batch.ts';

export interface Correction {
  /** The weights of the policy that learns, which the engine holds. */
  weights: string;
  temperature: number;
  cap: number;
}

/**
 * Gives over-stale rows their old log-probs and importance weights; the others weigh 1. Returns the mean weight of the tokens of
 * over-stale rows; null, and nothing is changed, without any.
 */
export async function correctOverStale(
  engine: Pick<Engine, 'score'>,
  rows: readonly PackedRow[],
  { weights, temperature, cap }: Correction,
): Promise<number | null> {
  const overStale = rows.filter((row) => row.overStale);
  if (overStale.length === 0) return null;
  const lossWeights = overStale.map(() => 0);
  const logprobsT = await engine.score(weights, packRows(overStale, lossWeights), temperature);
  for (const row of rows) row.importance = new Float32Array(row.ids.length).fill(1);
  let start = 0;
  let sum = 0;
  let tokens = 0;
  for (const row of overStale) {
    const current = logprobsT.slice(start, start + row.ids.length);
    start += row.ids.length;
    row.importance = Float32Array.from(row.trained, (trained, t) =>
      trained === 0 ? 0 : Math.min(cap, Math.exp(current[t]! - row.logprobs[t]!)),
    );
    row.logprobs = [...current];
    for (const weight of row.importance) sum += weight;
    for (const trained of row.trained) tokens += trained;
  }
  return sum / tokens;
}
