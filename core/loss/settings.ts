/** Which loss a training step uses, with its constants. */
import type { klEstimatorNames } from '../recipe.ts';

/** Losses of the language model: a term for each trained token. */
export type TokenLossSettings =
  | { name: 'cross-entropy' }
  | {
      name: 'ppo-clip';
      clipLow: number;
      clipHigh: number;
      kl: { coefficient: number; estimator: (typeof klEstimatorNames)[number] } | null;
      /** The entropy of each token's distribution, times this, is taken off the loss; absent means no such term. */
      entropyCoefficient?: number;
    };

/** Losses of a value head: a term for each trained position. */
export type ValueLossSettings = { name: 'value-mse' } | { name: 'value-clip'; clip: number };

/** Losses of a reward head: a term for each row, or for each pair of rows (the chosen one, then the rejected one). */
export type RewardLossSettings = { name: 'reward-mse' } | { name: 'reward-pairs' };

export type LossSettings = TokenLossSettings | ValueLossSettings | RewardLossSettings;
