/** The learning rate as a pure function of the optimizer step. */
import type { OptimizerSettings, Recipe } from './recipe.ts';

/**
 * Linear warm-up, then constant or falling to a share of the full rate. `step` is the number of optimizer steps of the phase
 * made before this one, so step 0 already moves:
 *
 *   warm-up   learningRate (step + 1) / warmupSteps                                    while step < warmupSteps
 *   then      learningRate (s + (1 - s) f(p)),  p = min(1, (step - warmupSteps) / (decaySteps - warmupSteps))
 *
 * where s is `finalShare`, and f(p) is 1 - p for `linear` and (1 + cos(pi p)) / 2 for `cosine` (Loshchilov and Hutter 2017, SGDR,
 * equation 5, without restarts). A rate that was given by hand, as `setHyperparameters` does, stands for `learningRate`.
 *
 * @param mostSteps decaySteps, where the schedule does not tell: the most steps of the phase
 */
export function learningRateAt(
  settings: Pick<OptimizerSettings, 'learningRate' | 'warmupSteps' | 'schedule'>,
  step: number,
  mostSteps: number,
): number {
  const { learningRate, warmupSteps, schedule } = settings;
  if (step < warmupSteps) return (learningRate * (step + 1)) / warmupSteps;
  if (schedule === undefined) return learningRate;
  const { decay, decaySteps = mostSteps, finalShare } = schedule;
  const progress = decaySteps > warmupSteps ? (step - warmupSteps) / (decaySteps - warmupSteps) : 1;
  return learningRate * (finalShare + (1 - finalShare) * decayed(decay, Math.min(1, progress)));
}

function decayed(decay: 'linear' | 'cosine', progress: number): number {
  return decay === 'linear' ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2;
}

/** The most optimizer steps that reinforcement can make; groups that are left out make fewer. */
export function mostTrainingSteps({ rollout, training }: Pick<Recipe, 'rollout' | 'training'>): number {
  const rows = rollout.tasksPerIteration * rollout.groupSize;
  return training.iterations * training.epochs * Math.ceil(rows / training.minibatchRows);
}
