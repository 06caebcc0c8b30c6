/** A schema's complaints as sentences that name the path, the value and what was expected. */
import type { z } from 'zod';
import { nearest } from './nearest.ts';
import { keysAt, suggestPath, variantsWithKey } from './recipe-keys.ts';
import type { RecipeProblem } from './recipe-checks.ts';

export function describeIssues(issues: readonly z.core.$ZodIssue[], recipe: unknown): RecipeProblem[] {
  return issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => describeUnknownKey(path, key));
    return [{ path: path.join('.'), message: describeIssue(issue, valueAt(recipe, path)) }];
  });
}

function describeUnknownKey(parent: string[], key: string): RecipeProblem {
  const path = [...parent, key];
  const variants = variantsWithKey(parent, key);
  const suggestion = suggestPath(path);
  let message = `unknown key; expected ${keysAt(parent).join(', ')}`;
  if (variants.length > 0) message = `has no effect here; it belongs to ${variants.join(', ')}`;
  else if (suggestion !== undefined) message = `unknown key; did you mean ${suggestion}?`;
  return { path: path.join('.'), message };
}

function describeIssue(issue: z.core.$ZodIssue, value: unknown): string {
  const expected = expectation(issue);
  if (value === undefined) return `missing; expected ${expected}`;
  const names = allowedNames(issue);
  const suggestion = typeof value === 'string' ? nearest(value, names) : undefined;
  return (
    `${show(value)}; expected ${expected}` + (suggestion === undefined ? '' : `; did you mean ${suggestion}?`)
  );
}

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeNames[issue.expected] ?? issue.expected;
    case 'invalid_value':
    case 'invalid_union': {
      const names = allowedNames(issue);
      return names.length === 1 ? names[0]! : `one of ${names.join(', ')}`;
    }
    case 'too_small':
      return (
        sizes[issue.origin]?.(issue.minimum, issue.inclusive ? 'at least' : 'more than') ?? issue.message
      );
    case 'too_big':
      return sizes[issue.origin]?.(issue.maximum, issue.inclusive ? 'at most' : 'less than') ?? issue.message;
    default:
      return issue.message.replace(/^expected /, '');
  }
}

const typeNames: Record<string, string | undefined> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
};

type Size = (limit: number | bigint, comparison: string) => string;
const sizes: Record<string, Size | undefined> = {
  number: (limit, comparison) => `${comparison} ${limit}`,
  array: (limit, comparison) => `a list of ${comparison} ${limit}`,
  string: (limit, comparison) => `${comparison} ${limit} characters`,
};

function allowedNames(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  if (issue.code === 'invalid_union' && issue.errors.length > 0)
    return [...new Set(issue.errors.flat().flatMap(allowedNames))];
  if (issue.code === 'invalid_union' && 'options' in issue) return (issue.options as unknown[]).map(String);
  return [];
}

function valueAt(recipe: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined,
    recipe,
  );
}

function show(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}
