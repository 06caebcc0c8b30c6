/** The policies of a log that may roll out the iterations to come: see `behaviourOf` in scheduling.ts. */
import type { LogEntry } from '../../core/records.ts';
import { neededPolicies, pastPolicyOf, type PastPolicy } from '../../core/scheduling.ts';
import type { Store } from '../../store/store.ts';

/** Oldest first; the last is the head. */
export async function pastPolicies(store: Store, head: LogEntry, lookahead: number): Promise<PastPolicy[]> {
  const past = [pastPolicyOf(head)];
  const oldestIteration = Math.max(0, past[0]!.iteration - lookahead);
  for (let version = head.version - 1; version >= 0 && past[0]!.iteration > oldestIteration; version--) {
    const entry = await store.entry(head.run, version);
    if (entry === undefined) break;
    past.unshift(pastPolicyOf(entry));
  }
  return neededPolicies(past, lookahead);
}
