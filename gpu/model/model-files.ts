/** The small files beside a model's weights, as bytes by file name: they travel as artifacts and need no folder to be read. */
import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { RekindleError } from '../../core/errors.ts';

/** File contents by name, as in a Hugging Face model folder. */
export type ModelFiles = Record<string, Uint8Array>;

export const fileNames = {
  config: 'config.json',
  generationConfig: 'generation_config.json',
  tokenizer: 'tokenizer.json',
  tokenizerConfig: 'tokenizer_config.json',
  chatTemplate: 'chat_template.jinja',
  weights: 'model.safetensors',
  /** In place of one file of weights, when they are in several. */
  weightsIndex: 'model.safetensors.index.json',
} as const;

/** @throws RekindleError ModelError when the file is missing or cannot be read. */
export async function readModelFile(path: string): Promise<Uint8Array> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    const problem = error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${error.message}`;
    throw new RekindleError('ModelError', `${path} ${problem}`, { cause: error });
  });
}

/** JSON text with a final newline. */
export function jsonFile(value: unknown): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`);
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key],
    value,
  );
}

/** At most 80 characters of a value's JSON. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** Parses a JSON file with a schema. @throws RekindleError ModelError that names the file, the field and its value. */
export function parseJsonFile<T extends z.ZodType>(bytes: Uint8Array, file: string, schema: T): z.infer<T> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new RekindleError('ModelError', `${file} is not JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw new RekindleError(
    'ModelError',
    `${file}: ${path.join('.') || 'content'} is ${shown(valueAt(value, path))}: ${message}`,
  );
}

/** A file that must be there. */
export function requiredFile(files: ModelFiles, name: string): Uint8Array {
  const bytes = files[name];
  if (!bytes) throw new RekindleError('ModelError', `the model has no ${name}`);
  return bytes;
}
