/** The learning rate as a pure function of the optimizer step. */
import type { OptimizerSettings } from './recipe.ts';

/**
 * Linear warm-up, then constant. `step` is the number of optimizer steps made before this one, so step 0 already moves:
 * learningRate * min(1, (step + 1) / warmupSteps).
 */
export function learningRateAt(
  settings: Pick<OptimizerSettings, 'learningRate' | 'warmupSteps'>,
  step: number,
): number {
  const { learningRate, warmupSteps } = settings;
  return step + 1 < warmupSteps ? (learningRate * (step + 1)) / warmupSteps : learningRate;
}
