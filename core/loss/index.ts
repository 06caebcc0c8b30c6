/** The registry of token losses, by the name in their settings. */
import { crossEntropy } from './cross-entropy.ts';
import type { LossInputs, LossOps, LossTerms } from './ops.ts';
import { ppoClip } from './ppo-clip.ts';
import type { TokenLossSettings } from './settings.ts';

/** Writes the loss that the settings name, over the given operations. */
export function tokenLoss<T>(
  ops: LossOps<T>,
  inputs: LossInputs<T>,
  settings: TokenLossSettings,
): LossTerms<T> {
  switch (settings.name) {
    case 'cross-entropy':
      return crossEntropy(ops, inputs, settings);
    case 'ppo-clip':
      return ppoClip(ops, inputs, settings);
  }
}
