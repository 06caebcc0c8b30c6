/** The JSON Schema of recipe files, for editors: the recipe's own schema, plus `extends`, which makes every key optional. */
import { z } from 'zod';
import { isMap, type RecipeMap } from './recipe-merge.ts';
import { recipeSchema } from './recipe.ts';

/** A draft 2020-12 schema. Cross-field checks are not in it. */
export function recipeJsonSchema(): RecipeMap {
  const { $schema, ...whole } = z.toJSONSchema(recipeSchema, { io: 'input' });
  return {
    $schema,
    title: 'Rekindle recipe',
    if: { required: ['extends'] },
    then: { $ref: '#/$defs/changes' },
    else: { $ref: '#/$defs/recipe' },
    $defs: { recipe: whole, changes: withExtends(partial(whole)) },
  };
}

function withExtends(schema: RecipeMap): RecipeMap {
  const base = { type: 'string', description: 'The recipe that this one changes: a name or a path' };
  return { ...schema, properties: { extends: base, ...(schema['properties'] as RecipeMap) } };
}

/** What may stand in a recipe that extends another: nothing is required, and null removes an inherited key. */
function partial(schema: RecipeMap): RecipeMap {
  const { required: _, properties, ...rest } = schema;
  const loosened = Array.isArray(rest['oneOf'])
    ? { ...rest, oneOf: undefined, anyOf: rest['oneOf'].map((variant) => partial(variant as RecipeMap)) }
    : rest;
  if (!isMap(properties)) return loosened;
  const optional = Object.entries(properties).map(([key, property]) => [
    key,
    orNull(partial(property as RecipeMap)),
  ]);
  return { ...loosened, properties: Object.fromEntries(optional) };
}

function orNull(schema: RecipeMap): RecipeMap {
  const { description, ...shape } = schema;
  return { ...(description === undefined ? {} : { description }), anyOf: [shape, { type: 'null' }] };
}
