/** Which keys may stand where in a recipe, read from its schema: for overrides, for suggestions, never written down twice. */
import { z } from 'zod';
import { nearest } from './nearest.ts';
import { recipeSchema } from './recipe.ts';

type Schema = z.core.$ZodType;

function unwrap(schema: Schema): Schema {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault) {
    inner = inner.unwrap();
  }
  return inner;
}

/** The object schemas that a value may satisfy: one, or every variant of a union. */
function objects(schema: Schema): z.ZodObject[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) return [inner];
  if (inner instanceof z.ZodDiscriminatedUnion) return inner.options.flatMap(objects);
  return [];
}

function fieldsOf(object: z.ZodObject): Map<string, Schema> {
  const shape: Readonly<Record<string, Schema>> = object.shape;
  const fields = new Map<string, Schema>();
  for (const [key, schema] of Object.entries(shape)) fields.set(key, schema);
  return fields;
}

function children(schema: Schema, key: string): Schema[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray) return /^\d+$/.test(key) ? [inner.element] : [];
  return objects(inner).flatMap((object) => {
    const child = fieldsOf(object).get(key);
    return child === undefined ? [] : [child];
  });
}

/** Whether a path (`rewards.0.weight` as segments) names something that a recipe may hold. */
export function isKnownPath(path: readonly string[]): boolean {
  return schemasAt(path).length > 0;
}

/** Keys that may stand under a path, for any variant of a union; empty under a plain value. */
export function keysAt(path: readonly string[]): string[] {
  const keys = schemasAt(path).flatMap((schema) =>
    objects(schema).flatMap((object) => Object.keys(object.shape)),
  );
  return [...new Set(keys)];
}

function schemasAt(path: readonly string[]): Schema[] {
  let schemas: Schema[] = [recipeSchema];
  for (const key of path) schemas = schemas.flatMap((schema) => children(schema, key));
  return schemas;
}

/** The variants of a union under `path` that know `key`, as `source: gsm8k`; empty when no variant does. */
export function variantsWithKey(path: readonly string[], key: string): string[] {
  const names: string[] = [];
  for (const schema of schemasAt(path).map(unwrap)) {
    if (!(schema instanceof z.ZodDiscriminatedUnion)) continue;
    const discriminator = schema.def.discriminator;
    for (const object of schema.options.flatMap(objects)) {
      const fields = fieldsOf(object);
      const literal = fields.get(discriminator);
      if (fields.has(key) && literal instanceof z.ZodLiteral) {
        names.push(`${discriminator}: ${String(literal.value)}`);
      }
    }
  }
  return names;
}

/** All paths of mapping keys, depth first. */
function allPaths(path: string[] = []): string[][] {
  return keysAt(path).flatMap((key) => [[...path, key], ...allPaths([...path, key])]);
}

/** The known path that an unknown one most likely means: a neighbour with a similar name, else the same name elsewhere. */
export function suggestPath(path: readonly string[]): string | undefined {
  const known = path.findIndex((_, i) => !isKnownPath(path.slice(0, i + 1)));
  const parent = path.slice(0, known);
  const sibling = nearest(path[known] ?? '', keysAt(parent));
  if (sibling !== undefined) return [...parent, sibling, ...path.slice(known + 1)].join('.');

  const last = path.at(-1)!;
  const elsewhere = allPaths().filter((candidate) => candidate.at(-1) === last);
  return elsewhere.length === 0 ? undefined : elsewhere.map((found) => found.join('.')).join(' or ');
}
