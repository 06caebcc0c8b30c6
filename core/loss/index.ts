/** The losses of a language model, by the name in their settings. */
import { crossEntropy } from './cross-entropy.ts';
import type { LossInputs, LossOps, LossTerms } from './ops.ts';
import { policyObjective } from './policy-objective.ts';
import type { TokenLossSettings } from './settings.ts';

/** Writes the loss that the settings name, over the given operations. */
export function tokenLoss<T>(
  ops: LossOps<T>,
  inputs: LossInputs<T>,
  settings: TokenLossSettings,
): LossTerms<T> {
  return settings.name === 'cross-entropy'
    ? crossEntropy(ops, inputs, settings)
    : policyObjective(ops, inputs, settings);
}
