/** What an iteration needs to know: the policy that acts and is trained, and the recipe. */
import type { Policy } from '../core/contracts.ts';
import type { Hyperparameters, Recipe } from '../core/recipe.ts';
import type { Ref } from '../core/refs.ts';

export interface TrainIterationInput {
  run: string;
  iteration: number;
  recipe: Recipe;
  policy: Policy;
  reference: Ref;
  /** Those in force when the iteration begins; it works with what its batch recorded. */
  hyperparameters: Hyperparameters;
}
