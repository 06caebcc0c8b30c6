/** The border for recipes: what passes has the right shape, numbers that fit together, and no key without effect. */
import { RekindleError } from './errors.ts';
import { checkRecipe, type RecipeProblem } from './recipe-checks.ts';
import { describeIssues } from './recipe-problems.ts';
import { recipeSchema, type Recipe } from './recipe.ts';

/**
 * A recipe as written to a recipe with every default filled in. `where` names it in the error, as a reader would find it.
 * Throws RecipeError that lists all problems, one a line.
 */
export function parseRecipe(written: unknown, where: string): Recipe {
  const parsed = recipeSchema.safeParse(written);
  const problems = parsed.success ? checkRecipe(parsed.data) : describeIssues(parsed.error.issues, written);
  if (parsed.success && problems.length === 0) return parsed.data;
  throw recipeError(where, problems);
}

function recipeError(where: string, problems: readonly RecipeProblem[]): RekindleError {
  const lines = problems.map(({ path, message }) => `  ${path === '' ? 'recipe' : path}: ${message}`);
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  return new RekindleError('RecipeError', [`${where}: ${count}`, ...lines].join('\n'), {
    hint: 'Every key and its meaning is in recipes/recipe.schema.json.',
  });
}
