import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';

/** tiny.yaml as an object, so that no path of a machine gets into what is recorded of a run. */
export async function loadTinyRecipe(): Promise<Record<string, unknown>> {
  return parse(await readFile(new URL('./tiny.yaml', import.meta.url), 'utf8')) as Record<string, unknown>;
}
