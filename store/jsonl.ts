/**
 * Lists of records as artifacts: JSON lines, one record a line. Every record is checked by its schema before it is written, and
 * the bytes by their hash when they are read; what can still differ then is the program's version, so the first record is checked.
 */
import { z } from 'zod';
import { RekindleError } from '../core/errors.ts';
import { mediaTypes, type Ref } from '../core/refs.ts';
import type { Store } from './store.ts';

/** Throws StoreError when a record does not satisfy the schema. */
export async function putJsonl<T>(store: Store, records: readonly T[], schema: z.ZodType<T>): Promise<Ref> {
  const lines = records.map(
    (record, i) => `${JSON.stringify(validate(schema, record, `record ${i + 1}`))}\n`,
  );
  return store.putBytes(Buffer.from(lines.join('')), mediaTypes.jsonl);
}

/** Throws as `getBytes`, and StoreError naming artifact and line when a line is not JSON or the first not of the schema. */
export async function getJsonl<T>(store: Store, ref: Ref, schema: z.ZodType<T>): Promise<T[]> {
  const lines = new TextDecoder().decode(await store.getBytes(ref)).split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line, i) => {
    const where = `artifact ${ref.hash}, line ${i + 1}`;
    const record = parse(line, where);
    return i === 0 ? validate(schema, record, where) : (record as T);
  });
}

function parse(line: string, where: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw wrong(where, String(error), error);
  }
}

function validate<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw wrong(where, z.prettifyError(result.error), result.error);
}

function wrong(where: string, problem: string, cause: unknown): RekindleError {
  return new RekindleError('StoreError', `${where}: ${problem}`, {
    hint: 'Another version of the program may have written it.',
    permanent: true,
    cause,
  });
}
