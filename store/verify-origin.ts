/** A fork begins with the very policy that the log of the other run holds under the version that it names. */
import { z } from 'zod';
import { keys } from '../core/ids.ts';
import type { LogEntry } from '../core/records.ts';
import type { Store } from './store.ts';

const openingSchema = z.object({
  given: z.object({ from: z.object({ run: z.string(), version: z.number() }).optional() }),
});

export async function originProblems(
  store: Store,
  run: string,
  first: LogEntry | undefined,
): Promise<string[]> {
  try {
    const opening = openingSchema.safeParse((await store.findResult(run, keys.opening()))?.value);
    const from = opening.data?.given.from;
    if (from === undefined || first?.version !== 0) return [];
    const name = `version ${from.version} of run ${from.run}`;
    const entry = await store.entry(from.run, from.version);
    if (entry === undefined) return [`it was forked from ${name}, which is not in the store`];
    if (entry.weights.hash === first.weights.hash) return [];
    return [`it begins with ${first.weights.hash}, but ${name} is ${entry.weights.hash}`];
  } catch (error) {
    return [`what it was forked from cannot be read: ${String(error)}`];
  }
}
