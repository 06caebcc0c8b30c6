/** The check of a recipe before anything is started: what `plan` shows, and what `train` insists on. */
import { loadRecipe } from '../activities/recipe/load-recipe.ts';
import { gatherPlanFacts } from '../activities/recipe/plan-facts.ts';
import { openDataSet } from '../activities/data/open-data-set.ts';
import { planRun } from '../core/plan.ts';
import type { Plan } from '../core/plan-schema.ts';
import type { Recipe } from '../core/recipe.ts';
import { openModel } from '../gpu/model/open-model.ts';

export interface CheckedRecipe {
  recipe: Recipe;
  plan: Plan;
}

/** Throws RecipeError that names all problems of the recipe; what files lack is in the plan. */
export async function planRecipe(recipe: string, set: string[]): Promise<CheckedRecipe> {
  const resolved = await loadRecipe(recipe, set);
  return { recipe: resolved, plan: planRun(resolved, await gatherPlanFacts(resolved)) };
}

/** Throws RecipeError, ModelError or DataError for what would stop a run: its files are opened and read. */
export async function checkRecipe(recipe: string, set: string[]): Promise<Recipe> {
  const resolved = await loadRecipe(recipe, set);
  if (resolved.model.path !== undefined) await openModel(resolved.model.path);
  await openDataSet(resolved.data, 'train', resolved.seed);
  if (resolved.evaluation !== undefined) await openDataSet(resolved.data, 'evaluation', resolved.seed);
  return resolved;
}
