/** Which loss a training step uses, with its constants. */
import type { klEstimatorNames } from '../algorithm.ts';

interface ClipRange {
  clipLow: number;
  clipHigh: number;
}

/** The constants of each term that makes the policy better. */
interface PolicyTerms {
  'ppo-clip': ClipRange & { dualClip?: number };
  gspo: ClipRange;
  'gspo-token': ClipRange;
  gmpo: ClipRange;
  cispo: ClipRange;
  cpgd: ClipRange;
  sapo: { tauPositive: number; tauNegative: number };
  reinforce: object;
  'importance-sampling': object;
  'dppo-tv': ClipRange & { truncation: number };
  'dppo-kl': ClipRange & { truncation: number };
  dro: { beta: number };
  'clip-cov': ClipRange;
  'kl-cov': { coefficient: number };
}

export type PolicyLossName = keyof PolicyTerms;
export type PolicyLossOf<Name extends PolicyLossName> = PolicyTerms[Name];
type PolicyTermSettings = { [Name in PolicyLossName]: { name: Name } & PolicyTerms[Name] }[PolicyLossName];

/** Terms that any of them can be joined with. */
interface CommonTermSettings {
  kl: { coefficient: number; estimator: (typeof klEstimatorNames)[number] } | null;
  /** The entropy of each token's distribution, times this, is taken off the loss; absent means no such term. */
  entropyCoefficient?: number;
  /** Whether the policy term is weighted by `importance`. */
  corrected?: boolean;
}

export type PolicyLossSettings = PolicyTermSettings & CommonTermSettings;

/** Losses of the language model: a term for each trained token. */
export type TokenLossSettings = { name: 'cross-entropy' } | PolicyLossSettings;

/** Losses of a value head: a term for each trained position. */
export type ValueLossSettings = { name: 'value-mse' } | { name: 'value-clip'; clip: number };

/** Losses of a reward head: a term for each row, or for each pair of rows (the chosen one, then the rejected one). */
export type RewardLossSettings = { name: 'reward-mse' } | { name: 'reward-pairs' };

export type LossSettings = TokenLossSettings | ValueLossSettings | RewardLossSettings;
