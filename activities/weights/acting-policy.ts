/** The policy that samples for an iteration: the one that it was given or, where the recipe says so, the newest one. */
import type { Policy } from '../../core/contracts.ts';
import type { Recipe } from '../../core/recipe.ts';
import { schedulingOf } from '../../core/scheduling.ts';
import type { Store } from '../../store/store.ts';

export type ActingPolicy = Pick<Policy, 'version' | 'weights'>;

export async function actingPolicy(
  store: Pick<Store, 'head'>,
  recipe: Pick<Recipe, 'schedule'>,
  { run, version, weights }: ActingPolicy & { run: string },
): Promise<ActingPolicy> {
  const given = { version, weights };
  if (schedulingOf(recipe).behaviour === 'fixed') return given;
  const head = await store.head(run);
  return head === undefined || head.version <= version
    ? given
    : { version: head.version, weights: head.weights };
}

/** Weight sets that an engine keeps beside the one that it loads: those that rollouts under way may still sample from. */
export function keptPolicies(recipe: Pick<Recipe, 'schedule'>): number {
  return 1 + schedulingOf(recipe).lookahead;
}
