/**
 * Patterns over dotted names, such as those of tensors:
 *
 *   *        any characters, dots included
 *   {0..3}   a whole number of the range, ends included
 *   {a,b}    one of the choices
 *
 * Everything else stands for itself, and a pattern must match a name from its first to its last character.
 */
import { RekindleError } from './errors.ts';
import { editDistance } from './nearest.ts';

const range = /^(\d+)\.\.(\d+)$/;
const longestRange = 10_000;

/** Why a pattern is none, or undefined. */
export function namePatternProblem(pattern: string): string | undefined {
  const outsideBraces = pattern.replaceAll(/\{[^{}]*\}/g, '');
  if (/[{}]/.test(outsideBraces)) return `"${pattern}" has a brace without its partner`;
  for (const [, body] of pattern.matchAll(/\{([^{}]*)\}/g)) {
    const [, first, last] = range.exec(body!) ?? [];
    if (first !== undefined && !(Number(first) <= Number(last) && Number(last) < longestRange)) {
      return `"${pattern}": {${body}} is not a rising range of numbers below ${longestRange}`;
    }
    if (first === undefined && !body!.includes(',')) {
      return `"${pattern}": {${body}} is neither a range such as {0..3} nor a choice such as {a,b}`;
    }
  }
  return undefined;
}

function expressionOf(pattern: string): RegExp {
  const source = pattern.replaceAll(/\{([^{}]*)\}|\*|[^{}*]+/g, (part, body?: string) => {
    if (part === '*') return '.*';
    if (body === undefined) return escaped(part);
    const [, first, last] = range.exec(body) ?? [];
    const choices =
      first === undefined
        ? body.split(',')
        : Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => String(Number(first) + i));
    return `(?:${choices.map(escaped).join('|')})`;
  });
  return new RegExp(`^${source}$`);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** The names most like a pattern; of those that differ in numbers only, the first. */
function nearNames(pattern: string, names: readonly string[]): string[] {
  const kinds = new Map<string, string>();
  for (const name of names.toReversed()) kinds.set(name.replaceAll(/\d+/g, '0'), name);
  const alike = (name: string): number => editDistance(pattern, name);
  return [...kinds.values()].sort((a, b) => alike(a) - alike(b)).slice(0, 3);
}

/**
 * The names that at least one pattern matches, in their order.
 * @throws RekindleError RecipeError for a pattern that is none or matches no name; it lists near names.
 */
export function matchingNames(patterns: readonly string[], names: readonly string[]): Set<string> {
  const matched = new Set<string>();
  for (const pattern of patterns) {
    const problem = namePatternProblem(pattern);
    if (problem !== undefined) throw new RekindleError('RecipeError', problem);
    const expression = expressionOf(pattern);
    const matches = names.filter((name) => expression.test(name));
    if (matches.length === 0) {
      throw new RekindleError('RecipeError', `"${pattern}" matches no name of a tensor`, {
        hint: `A pattern must match a whole name. Names like it: ${nearNames(pattern, names).join(', ')}.`,
      });
    }
    for (const name of matches) matched.add(name);
  }
  return new Set(names.filter((name) => matched.has(name)));
}
