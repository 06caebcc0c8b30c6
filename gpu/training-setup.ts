/**
 * What of a policy is trained, and with which head: part of an engine's settings, the same for all of its updates. With an
 * adapter (LoRA, Hu et al. 2021, arXiv 2106.09685) the weights themselves stay as they are, and a policy is an adapter file
 * beside the base that it adds to.
 */
import type { AdapterSettings } from '../core/recipe.ts';

/**
 * `token`: the language model. `value`: a number for each position; `reward`: a number for a whole row, read at its last token.
 * The last two have a matrix `score.weight` [1, hiddenSize] in place of the language model's head.
 */
export type PolicyHead = 'token' | 'value' | 'reward';

export interface TrainingSetup {
  adapter: AdapterSettings | null;
  /** Patterns over Hugging Face tensor names that are not trained (see core/name-patterns.ts). */
  frozen: readonly string[];
  /** Compute each layer's activations again in the backward pass instead of keeping them. */
  checkpointing: boolean;
  head: PolicyHead;
}

export const trainEverything: TrainingSetup = {
  adapter: null,
  frozen: [],
  checkpointing: false,
  head: 'token',
};
