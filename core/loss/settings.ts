/** Which per-token loss a training step uses, with its constants. */
import type { klEstimatorNames } from '../recipe.ts';

export type LossSettings =
  | { name: 'cross-entropy' }
  | {
      name: 'ppo-clip';
      clipLow: number;
      clipHigh: number;
      kl: { coefficient: number; estimator: (typeof klEstimatorNames)[number] } | null;
    };
