/** What an iteration needs to know: the policies that act and that are trained, and the recipe. */
import { defineSignal } from '@temporalio/workflow';
import type { Policy } from '../core/contracts.ts';
import type { Hyperparameters, Recipe } from '../core/recipe.ts';
import type { Ref } from '../core/refs.ts';

export interface TrainIterationInput {
  run: string;
  iteration: number;
  recipe: Recipe;
  /** The policy that rolls out; with `schedule.mode: async`, at least: shards and turns take the newest one. */
  policy: Pick<Policy, 'version' | 'weights'>;
  /** The policy to learn from; null while the iteration before is still making it. */
  parent: Policy | null;
  reference: Ref;
  /** Those in force when the iteration begins; it works with what its batch recorded. */
  hyperparameters: Hyperparameters;
}

/** Tells an iteration that was begun ahead of its turn that the turn has come, and from which policy it learns. */
export const learnFrom = defineSignal<[Policy]>('learnFrom');
