/** What follows an update that was refused for a NaN or infinite loss or gradient, by `training.onNonFinite`. */
import type { LogEntry } from './records.ts';
import type { Hyperparameters, Recipe } from './recipe.ts';

type Settings = { training: Pick<Recipe['training'], 'onNonFinite' | 'learningRateBackoff' | 'optimizer'> };

export const defaultBackoff = { factor: 0.5, floor: 1e-8 } as const;

/**
 * The hyperparameters in force after an entry: a refused update lowers the learning rate below the one that it was made with,
 * but never below the floor, and never raises it. Following an entry twice lowers nothing twice.
 */
export function hyperparametersAfter(
  entry: Pick<LogEntry, 'kind' | 'update' | 'hyperparameters'>,
  { training }: Settings,
  inForce: Hyperparameters,
): Hyperparameters {
  const { onNonFinite, learningRateBackoff = defaultBackoff, optimizer } = training;
  if (onNonFinite !== 'lower-learning-rate') return inForce;
  if (entry.kind !== 'reinforcement' || entry.update !== 'refused') return inForce;
  const { factor, floor } = learningRateBackoff;
  const used = entry.hyperparameters.learningRate ?? optimizer.learningRate;
  const now = inForce.learningRate ?? optimizer.learningRate;
  const lowered = Math.min(now, Math.max(floor, used * factor));
  return lowered === now ? inForce : { ...inForce, learningRate: lowered };
}

/** Why an entry ends its run; undefined when it does not. */
export function refusalStops(
  entry: Pick<LogEntry, 'version' | 'update'>,
  { training }: Settings,
): string | undefined {
  if (entry.update !== 'refused' || training.onNonFinite !== 'stop') return undefined;
  return `a loss or gradient of policy version ${entry.version} was not finite (training.onNonFinite: stop)`;
}
