/** The keys of a recipe as tables, one a section, read from the JSON Schema that editors use. */
import { z } from 'zod';
import { recipeJsonSchema } from '../../core/recipe-json-schema.ts';
import { table } from './markdown-table.ts';

const schemaNode = z.looseObject({
  type: z.string().optional(),
  const: z.string().optional(),
  enum: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  maximum: z.number().optional(),
  default: z.unknown().optional(),
  description: z.string().optional(),
  required: z.array(z.string()).default([]),
  properties: z.record(z.string(), z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  anyOf: z.array(z.unknown()).optional(),
  items: z.unknown().optional(),
});
type Node = z.infer<typeof schemaNode>;

const recipe = schemaNode.parse(
  z.object({ $defs: z.object({ recipe: z.unknown() }) }).parse(recipeJsonSchema()).$defs.recipe,
);

export interface KeyRow {
  /** Dotted, from the root of the recipe. */
  path: string;
  value: string;
  standard: string;
  meaning: string;
}

/** The keys under a path. A mapping inside is listed in place, but for optimizers, which have a table of their own. */
export function keyRows(path: string, node: Node): KeyRow[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, property]): KeyRow[] => {
    const inner = schemaNode.parse(property);
    const at = path === '' ? key : `${path}.${key}`;
    const item = schemaNode.parse(inner.items ?? {});
    const isSection = [inner, item].some(({ properties, oneOf }) => (properties ?? oneOf) !== undefined);
    const row = {
      path: at,
      value: valueText(inner, key),
      standard: standardText(inner, node.required.includes(key)),
      meaning: inner.description ?? '',
    };
    if (!isSection) return [row];
    if (path !== '' && inner.oneOf !== undefined) return unionRows(at, inner);
    if (path === '' || inner.properties === undefined || key === 'optimizer') return [];
    return [...(row.meaning === '' ? [] : [{ ...row, value: 'section' }]), ...keyRows(at, inner)];
  });
}

/** The kinds of a union inside of a section, and the keys of each; a key that several kinds have alike is listed once. */
function unionRows(path: string, { description = '', default: standard, oneOf = [] }: Node): KeyRow[] {
  const rows = oneOf.flatMap((variant) => keyRows(path, schemaNode.parse(variant)));
  const kinds: string[] = [];
  const byText = new Map<string, { row: KeyRow; kinds: string[] }>();
  for (const row of rows) {
    if (row.path === `${path}.kind`) {
      kinds.push(row.value);
      continue;
    }
    const text = JSON.stringify(row);
    const known = byText.get(text) ?? { row, kinds: [] };
    known.kinds.push(kinds.at(-1)!);
    byText.set(text, known);
  }
  const { kind } = z.object({ kind: z.string() }).parse(standard);
  return [
    { path: `${path}.kind`, value: kinds.join(', '), standard: `\`${kind}\``, meaning: description },
    ...[...byText.values()].map(({ row, kinds: having }) => ({
      ...row,
      meaning: `${having.join(', ')}: ${row.meaning}`,
    })),
  ];
}

function valueText(
  { type, enum: names, const: only, minimum, exclusiveMinimum, maximum, anyOf, items }: Node,
  key: string,
): string {
  if (anyOf !== undefined)
    return anyOf.map((choice) => valueText(schemaNode.parse(choice), key)).join(', or ');
  if (items !== undefined) return `list of ${valueText(schemaNode.parse(items), key)}`;
  if (only !== undefined) return `\`${only}\``;
  if (names !== undefined) return names.map((name) => `\`${name}\``).join(', ');
  if (type === 'boolean') return '`true`, `false`';
  if (type === 'string') return /path|hub/.test(key) ? 'path' : 'text';
  const kind = type === 'integer' ? 'whole number' : 'number';
  const least =
    exclusiveMinimum === undefined ? minimum : type === 'integer' ? exclusiveMinimum + 1 : undefined;
  const bounds = [
    ...(least === undefined || least === Number.MIN_SAFE_INTEGER ? [] : [`from ${least}`]),
    ...(least === undefined && exclusiveMinimum !== undefined ? [`above ${exclusiveMinimum}`] : []),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? [] : [`to ${maximum}`]),
  ];
  return [kind, ...bounds].join(' ');
}

function standardText({ default: standard, const: only }: Node, required: boolean): string {
  if (only !== undefined || required) return 'required';
  if (standard === undefined) return 'none';
  if (standard === '') return 'empty';
  return `\`${typeof standard === 'string' ? standard : JSON.stringify(standard)}\``;
}

/** The schema under a path; of a list, that of its items. */
function nodeAt(path: string): Node {
  let node = recipe;
  for (const key of path.split('.')) {
    const properties: Record<string, unknown> = node.properties ?? {};
    node = schemaNode.parse(properties[key]);
  }
  return node.properties === undefined && node.items !== undefined ? schemaNode.parse(node.items) : node;
}

/** The variants of a union, by the value that tells them apart. */
export function variants(path: string): [string, Node][] {
  const node = nodeAt(path);
  const union = node.oneOf ?? [];
  return union.map((variant) => {
    const parsed = schemaNode.parse(variant);
    const names = Object.values(parsed.properties ?? {}).flatMap(
      (property) => schemaNode.parse(property).const ?? [],
    );
    return [names[0]!, parsed];
  });
}

function keyTable(rows: KeyRow[]): string {
  return table(
    ['key', 'value', 'default', 'meaning'],
    rows.map(({ path, value, standard, meaning }) => [`\`${path}\``, value, standard, meaning]),
  );
}

const sections = [
  'model',
  'prompt',
  'warmStart',
  'rollout',
  'algorithm',
  'adapter',
  'training',
  'evaluation',
  'engine',
  'schedule',
];

/** By the name of the table: its rows. */
export const recipeRows: Record<string, () => KeyRow[]> = {
  'recipe keys': () => keyRows('', recipe),
  'stopping keys': () => keyRows(' ', nodeAt('stopping')).map(withoutPrefix),
  'training.optimizer keys': () => keyRows('optimizer', nodeAt('training.optimizer')),
  ...Object.fromEntries(sections.map((path) => [`${path} keys`, () => keyRows(path, nodeAt(path))])),
  ...variantRows('data.train'),
  ...variantRows('environment'),
  ...variantRows('rewards'),
};

function variantRows(path: string): Record<string, () => KeyRow[]> {
  return Object.fromEntries(
    variants(path).map(([name, node]) => [
      `${path} keys, ${name}`,
      () => keyRows(' ', node).map(withoutPrefix),
    ]),
  );
}

function withoutPrefix(row: KeyRow): KeyRow {
  return { ...row, path: row.path.replace(/^ \./, '') };
}

export const recipeTables = Object.fromEntries(
  Object.entries(recipeRows).map(([name, rows]) => [name, () => keyTable(rows())]),
);
