/** From a recipe's name, path or text to a resolved recipe: read, extend, override, check. */
import { dirname } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import { mergeRecipes, type RecipeMap } from '../../core/recipe-merge.ts';
import { parseRecipe } from '../../core/recipe-parse.ts';
import { applyOverrides } from '../../core/recipe-set.ts';
import type { Recipe } from '../../core/recipe.ts';
import { readRecipeFile, withAbsolutePaths } from './recipe-file.ts';

/**
 * Loads a recipe: the name of one that comes with the package, a path, or the recipe itself as an object; then `overrides`
 * (`a.b=c`) in order. A recipe may extend another with `extends: <name or path>`.
 *
 * Paths in a recipe file are relative to that file; a recipe path, and paths in overrides or in an object, to `folder`.
 * All paths in the result are absolute. Throws RecipeError that names all problems of the recipe.
 */
export async function loadRecipe(
  source: string | RecipeMap,
  overrides: readonly string[] = [],
  folder: string = process.cwd(),
): Promise<Recipe> {
  const written =
    typeof source === 'string'
      ? await readExtended(source, folder, [])
      : await extend(withAbsolutePaths(source, folder), folder, []);
  const overridden = withAbsolutePaths(applyOverrides(written, overrides), folder);
  return parseRecipe(overridden, typeof source === 'string' ? `recipe ${source}` : 'recipe');
}

async function readExtended(
  nameOrPath: string,
  folder: string,
  extenders: readonly string[],
): Promise<RecipeMap> {
  const { path, written } = await readRecipeFile(nameOrPath, folder);
  if (extenders.includes(path)) {
    throw new RekindleError(
      'RecipeError',
      `recipes extend each other in a circle: ${[...extenders, path].join(' → ')}`,
    );
  }
  return extend(written, dirname(path), [...extenders, path]);
}

async function extend(written: RecipeMap, folder: string, extenders: readonly string[]): Promise<RecipeMap> {
  const { extends: base, ...own } = written;
  if (base === undefined) return mergeRecipes({}, own);
  if (typeof base !== 'string') {
    const where = extenders.at(-1) ?? 'recipe';
    throw new RekindleError(
      'RecipeError',
      `${where}: extends: ${JSON.stringify(base)}; expected a recipe's name or path`,
    );
  }
  return mergeRecipes(await readExtended(base, folder, extenders), own);
}
