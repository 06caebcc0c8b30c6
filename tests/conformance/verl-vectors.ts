/** The vectors of verl_vectors.py. */
import { readFileSync } from 'node:fs';
import type { Aggregation } from '../../core/aggregation.ts';
import type { PolicyLossName } from '../../core/loss/settings.ts';
import type { klEstimatorNames } from '../../core/algorithm.ts';

export interface LossCase {
  name: PolicyLossName;
  settings: Record<string, number>;
  advantages: 'sequence' | 'token';
  aggregation: string;
  corrected: boolean;
  loss: number;
  gradient: number[];
}

export interface AdvantageCase {
  kind: string;
  counts: number[];
  rewards: number[];
  tokenRewards: number[];
  values: number[];
  baselineRewards: number[];
  oldLogprobs: number[];
  sumOfSquares: number[];
  importance: number[];
  advantages: { estimator: string; settings: Record<string, number | boolean>; value: number[] }[];
  returns: Record<string, number[]>;
}

interface VerlVectors {
  losses: {
    batch: {
      counts: number[];
      oldLogprobs: number[];
      logprobs: number[];
      advantages: Record<'sequence' | 'token', number[]>;
      importance: number[];
    };
    cases: LossCase[];
  };
  divergences: {
    batch: { logprobs: number[]; referenceLogprobs: number[] };
    cases: { estimator: (typeof klEstimatorNames)[number]; value: number[]; gradient: number[] }[];
  };
  valueLosses: {
    batch: { values: number[]; returns: number[]; oldValues: number[] };
    cases: { clip: number; loss: number; clipFraction: number; gradient: number[] }[];
  };
  advantages: { groupSize: number; cases: AdvantageCase[] };
  corrections: {
    counts: number[];
    proximalLogprobs: number[];
    sampledLogprobs: number[];
    weights: {
      level: 'token' | 'sequence';
      lowest: number | null;
      highest: number;
      normalize: boolean;
      weights: number[];
      effectiveSampleSize: number;
    }[];
    rejections: { statistic: string; threshold: string; kept: number[] }[];
    metrics: Record<string, number>;
  };
}

export const verlVectors = JSON.parse(
  readFileSync(new URL('./verl-0.9.1.json', import.meta.url), 'utf8'),
) as VerlVectors;

/** Our name of an aggregation of verl's. */
export function aggregationOf(name: string): Aggregation {
  return name.replace(/^seq-/, 'sequence-') as Aggregation;
}
