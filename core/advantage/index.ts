/** The registry of advantage estimators, by their name in a recipe. */
import type { AlgorithmSettings } from '../recipe.ts';
import { drGrpo } from './dr-grpo.ts';
import type { AdvantageEstimator } from './estimator.ts';
import { grpo } from './grpo.ts';
import { reinforce } from './reinforce.ts';
import { rloo } from './rloo.ts';

export const advantageEstimators: Record<AlgorithmSettings['advantage'], AdvantageEstimator> = {
  grpo,
  'dr-grpo': drGrpo,
  rloo,
  reinforce,
};
