import { cutLogRatio, logRatiosOf, sum, type MismatchRow } from './mismatch.ts';

export interface RejectionRule {
  /**
   * Over what a divergence of the sampler from the proximal policy is measured: each token by itself; or a row, by the sum, the mean or
   * the largest of its tokens'. A row is rejected as a whole.
   */
  over: 'token' | 'row-sum' | 'row-mean' | 'row-max';
  /** k1 = log sampler - log proximal, k2 = k1² / 2, k3 = ratio - 1 - log ratio. */
  estimator: 'k1' | 'k2' | 'k3';
  /** For k1 only, whose bounds are those of sampler / proximal. */
  lowest?: number | undefined;
  highest: number;
}

/**
 * Which tokens are kept (1) and which are rejected (0) as too far from the policy that sampled them: those whose divergence is within the
 * bounds of all rules. A row with a token whose ratio proximal / sampler is below `veto` is rejected as a whole. As in
 * masked importance sampling (MIS; Li et al., "When Speed Kills Stability", 2025).
 */
export function keptTokens(
  rows: readonly MismatchRow[],
  rules: readonly RejectionRule[],
  veto?: number,
): Uint8Array[] {
  return rows.map((row) => {
    const logRatiosN = logRatiosOf(row);
    const keptN = new Uint8Array(logRatiosN.length).fill(1);
    if (veto !== undefined && logRatiosN.some((logRatio) => logRatio < Math.log(veto))) return keptN.fill(0);
    for (const rule of rules) {
      const divergencesN = logRatiosN.map((logRatio) => divergence(cutLogRatio(logRatio), rule.estimator));
      const measuredN =
        rule.over === 'token' ? divergencesN : divergencesN.fill(overRow(divergencesN, rule.over));
      measuredN.forEach((value, n) => {
        if (!isWithin(value, rule)) keptN[n] = 0;
      });
    }
    return keptN;
  });
}

function divergence(logRatio: number, estimator: RejectionRule['estimator']): number {
  if (estimator === 'k1') return -logRatio;
  return estimator === 'k2' ? logRatio ** 2 / 2 : Math.exp(logRatio) - 1 - logRatio;
}

function overRow(divergencesN: Float64Array, over: Exclude<RejectionRule['over'], 'token'>): number {
  if (over === 'row-max') return divergencesN.reduce((most, value) => Math.max(most, value), -Infinity);
  const total = sum(divergencesN);
  return over === 'row-sum' ? total : total / Math.max(1, divergencesN.length);
}

function isWithin(value: number, { estimator, lowest, highest }: RejectionRule): boolean {
  if (estimator !== 'k1') return value <= highest;
  return value >= Math.log(lowest ?? 1 / highest) && value <= Math.log(highest);
}
