import { z } from 'zod';
import { RekindleError } from '../core/errors.ts';
import { fencedStore } from './fenced-store.ts';
import type { Provenance, Store } from './store.ts';

/**
 * The recorded result of a business key, or else the computed one, recorded. Whoever computes at the same time, all get
 * the value of the first writer. The value satisfies the schema on its way in and on its way out, and is always the one
 * that was read back, so the first call and a retry see the same thing. `provenance` is asked when the value is made.
 *
 * Throws what `compute` throws; StoreError when a value does not satisfy the schema.
 */
export async function memoise<T>(
  store: Store,
  run: string,
  key: string,
  schema: z.ZodType<T>,
  provenance: () => Provenance,
  compute: () => Promise<T>,
): Promise<T> {
  const found = await store.findResult(run, key);
  if (found !== undefined) return validate(schema, found.value, run, key, 'recorded');
  const value = validate(schema, await compute(), run, key, 'computed');
  const winner = await store.recordResult(run, key, { value, provenance: provenance() });
  return validate(schema, winner.value, run, key, 'recorded');
}

/**
 * As `memoise`, for long work that is done in one place at a time: it is claimed before it begins, and `compute` is given a store
 * through which it records nothing more once a later attempt has claimed it. Throws FencedError then.
 */
export async function memoiseClaimed<T>(
  store: Store,
  run: string,
  key: string,
  schema: z.ZodType<T>,
  provenance: () => Provenance,
  compute: (store: Store) => Promise<T>,
): Promise<T> {
  const found = await store.findResult(run, key);
  if (found !== undefined) return validate(schema, found.value, run, key, 'recorded');
  const own = fencedStore(store, await store.claim(run, key));
  return memoise(own, run, key, schema, provenance, () => compute(own));
}

function validate<T>(schema: z.ZodType<T>, value: unknown, run: string, key: string, what: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problem = z.prettifyError(result.error);
  throw new RekindleError('StoreError', `run ${run}: ${what} result ${key} is not as expected: ${problem}`, {
    hint: 'Another version of the program may have written it; finish the run with that one, or start it anew.',
    permanent: true,
    cause: result.error,
  });
}
