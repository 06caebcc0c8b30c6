/**
 * How a recipe extends another: mappings merge key by key, everything else (lists too) replaces what was there, and `null`
 * removes it. A mapping whose `source` or `kind` changes replaces the old one whole, as the old keys would mean nothing.
 */
export type RecipeMap = { [key: string]: unknown };

const variantKeys = ['source', 'kind'];

export function isMap(value: unknown): value is RecipeMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function mergeRecipes(base: RecipeMap, changes: RecipeMap): RecipeMap {
  const merged: RecipeMap = { ...base };
  for (const [key, change] of Object.entries(changes)) {
    const old = merged[key];
    if (change === null) delete merged[key];
    else if (!isMap(change)) merged[key] = change;
    else merged[key] = mergeRecipes(isMap(old) && !isOtherVariant(old, change) ? old : {}, change);
  }
  return merged;
}

function isOtherVariant(old: RecipeMap, change: RecipeMap): boolean {
  return variantKeys.some((key) => key in old && key in change && old[key] !== change[key]);
}
