/** Overrides of the form `a.b=c`, as in `--set rollout.groupSize=8`. */
import { parse } from 'yaml';
import { RekindleError } from './errors.ts';
import { isKnownPath, keysAt, suggestPath } from './recipe-keys.ts';
import { isMap, type RecipeMap } from './recipe-merge.ts';

/**
 * A copy of a recipe with overrides applied in order. A value is read as YAML (`3e-4`, `true`, `{source: addition}`) and
 * replaces what was there; an empty value or `null` removes the key. List items are named by index (`rewards.0.weight`).
 * Throws RecipeError for a malformed override, a path that no recipe has, or an index outside its list.
 */
export function applyOverrides(recipe: RecipeMap, overrides: readonly string[]): RecipeMap {
  return overrides.reduce((changed, override) => {
    const equals = override.indexOf('=');
    if (equals < 1) {
      throw new RekindleError('RecipeError', `--set ${override}: expected path=value`, {
        hint: 'For example --set rollout.groupSize=8',
      });
    }
    const path = override.slice(0, equals).trim().split('.');
    requireKnown(path, override);
    return setAt(changed, path, valueOf(override, equals), override) as RecipeMap;
  }, recipe);
}

function requireKnown(path: string[], override: string): void {
  if (isKnownPath(path)) return;
  const suggestion = suggestPath(path);
  const depth = path.findIndex((_, i) => !isKnownPath(path.slice(0, i + 1)));
  const parent = path.slice(0, depth);
  const known = keysAt(parent);
  const where = parent.length === 0 ? 'a recipe' : parent.join('.');
  throw new RekindleError(
    'RecipeError',
    `--set ${override}: ${where} has no key "${path[depth]}"` +
      (known.length > 0 ? `; it has ${known.join(', ')}` : ''),
    suggestion === undefined ? {} : { hint: `Did you mean ${suggestion}?` },
  );
}

function valueOf(override: string, equals: number): unknown {
  try {
    return parse(override.slice(equals + 1)) as unknown;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new RekindleError('RecipeError', `--set ${override}: the value is not YAML: ${reason}`, {
      hint: 'Quote the whole override for the shell, and the value where it holds YAML punctuation.',
      cause: error,
    });
  }
}

function setAt(target: unknown, path: readonly string[], value: unknown, override: string): unknown {
  const [key, ...rest] = path as [string, ...string[]];
  if (Array.isArray(target)) {
    const index = Number(key);
    if (index >= target.length) {
      throw new RekindleError(
        'RecipeError',
        `--set ${override}: index ${key} is outside a list of ${target.length}`,
      );
    }
    const item = rest.length === 0 ? value : setAt(target[index], rest, value, override);
    return value === null && rest.length === 0 ? target.toSpliced(index, 1) : target.with(index, item);
  }
  const map: RecipeMap = isMap(target) ? { ...target } : {};
  if (rest.length > 0) map[key] = setAt(map[key], rest, value, override);
  else if (value === null) delete map[key];
  else map[key] = value;
  return map;
}
