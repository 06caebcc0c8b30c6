/** How a run is scheduled, from its opening. */
import { z } from 'zod';
import { keys } from '../core/ids.ts';
import { recipeSchema } from '../core/recipe.ts';
import { schedulingOf, type Scheduling } from '../core/scheduling.ts';
import type { Store } from './store.ts';

const openingSchema = z.looseObject({ recipe: recipeSchema.pick({ schedule: true }).loose() });
const ordinary = recipeSchema.pick({ schedule: true }).parse({});

/** The ordinary schedule for a run without an opening; what cannot be read is added to `problems`. */
export async function readScheduling(store: Store, run: string, problems: string[]): Promise<Scheduling> {
  try {
    const opening = await store.findResult(run, keys.opening());
    if (opening !== undefined) return schedulingOf(openingSchema.parse(opening.value).recipe);
  } catch (error) {
    problems.push(`its opening cannot be read: ${String(error)}`);
  }
  return schedulingOf(ordinary);
}
