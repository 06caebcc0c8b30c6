/** One recipe file: found by name or path, read as YAML, its relative paths made absolute. */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { LineCounter, parseDocument, type Document } from 'yaml';
import { RekindleError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { isMap, type RecipeMap } from '../../core/recipe-merge.ts';
import { packageRoot } from './package-root.ts';

const recipesFolder = join(packageRoot, 'recipes');
/** Keys whose value is a path, relative to the file that it stands in. */
const pathKeys = [
  ['model', 'path'],
  ['data', 'train', 'path'],
  ['data', 'evaluation', 'path'],
];

export interface RecipeFile {
  path: string;
  text: string;
  written: RecipeMap;
}

/** Names of the recipes that come with the package, sorted. */
export async function builtInRecipes(): Promise<string[]> {
  const files = await readdir(recipesFolder);
  return files
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length))
    .sort();
}

/**
 * Reads a recipe by the name of one that comes with the package (`quickstart`) or by path (`./mine.yaml`), relative to a
 * folder. Throws RecipeError if there is none, or if it is not a YAML mapping (with line and column).
 */
export async function readRecipeFile(nameOrPath: string, folder: string): Promise<RecipeFile> {
  const path = await locate(nameOrPath, folder);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new RekindleError(
      'RecipeError',
      code === 'ENOENT'
        ? `recipe file ${path} does not exist`
        : `recipe file ${path} can't be read (${code})`,
      { hint: `Give a path, or one of ${(await builtInRecipes()).join(', ')}.`, cause: error },
    );
  }
  return { path, text, written: withAbsolutePaths(parseYaml(text, path), dirname(path)) };
}

async function locate(nameOrPath: string, folder: string): Promise<string> {
  if (/[/\\]|\.ya?ml$/.test(nameOrPath)) return resolve(folder, nameOrPath);
  const names = await builtInRecipes();
  if (names.includes(nameOrPath)) return join(recipesFolder, `${nameOrPath}.yaml`);
  const suggestion = nearest(nameOrPath, names);
  throw new RekindleError(
    'RecipeError',
    `no recipe is named "${nameOrPath}"; expected one of ${names.join(', ')}`,
    {
      hint:
        suggestion === undefined
          ? 'A recipe of your own is given by its path, with a slash or ending in .yaml.'
          : `Did you mean ${suggestion}?`,
    },
  );
}

/** Resolves anchors and aliases. */
function toPlain(document: Document, path: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new RekindleError('RecipeError', `${path}: ${(error as Error).message}`, {
      hint: 'An alias (*name) needs an anchor (&name) before it.',
      cause: error,
    });
  }
}

function parseYaml(text: string, path: string): RecipeMap {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw new RekindleError('RecipeError', `${path}:${line}:${col}: ${error.message}`, {
      hint: 'Recipes are YAML; indent with spaces, and quote text that holds ": " or "#".',
    });
  }
  const written = toPlain(document, path);
  if (!isMap(written)) {
    throw new RekindleError(
      'RecipeError',
      `${path}: expected a mapping of keys to values, found ${kindOf(written)}`,
    );
  }
  return written;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  return Array.isArray(value) ? 'a list' : JSON.stringify(value).slice(0, 60);
}

/** A copy of a recipe with the paths in it resolved against a folder. */
export function withAbsolutePaths(recipe: RecipeMap, folder: string): RecipeMap {
  const resolved = pathKeys.reduce(
    (changed, keys) => mapAt(changed, keys, (path) => absolute(path, folder)),
    recipe,
  );
  return mapAt(resolved, ['environment', 'command'], (command) =>
    Array.isArray(command) ? command.map((part) => absoluteArgument(part, folder)) : command,
  );
}

/** Arguments of a program may be anything: only what begins as a relative path is taken for one. */
function absoluteArgument(argument: unknown, folder: string): unknown {
  return typeof argument === 'string' && /^\.\.?\//.test(argument) ? resolve(folder, argument) : argument;
}

function absolute(path: unknown, folder: string): unknown {
  return typeof path !== 'string' || path === '' || isAbsolute(path) ? path : resolve(folder, path);
}

function mapAt(map: RecipeMap, [key, ...rest]: string[], change: (value: unknown) => unknown): RecipeMap {
  if (key === undefined || !(key in map)) return map;
  const value = map[key];
  if (rest.length === 0) return { ...map, [key]: change(value) };
  return isMap(value) ? { ...map, [key]: mapAt(value, rest, change) } : map;
}
