/** Goes back to an earlier policy by one more entry of the log. The entry's version is the key: a retry finds what is there. */
import { rollBackInputSchema } from '../../core/contracts.ts';
import { RekindleError } from '../../core/errors.ts';
import { logEntrySchema, type LogEntry } from '../../core/records.ts';
import { rollbackEntry } from '../../core/rollback.ts';
import type { Store } from '../../store/store.ts';
import { defineActivity } from '../define-activity.ts';
import type { CpuActivities } from '../interface.ts';
import type { Services } from '../services.ts';

export function rollBack({ store }: Services): CpuActivities['rollBack'] {
  return defineActivity(
    'rollBack',
    rollBackInputSchema,
    logEntrySchema,
    async ({ run, version, restores, hyperparameters }) => {
      const head = await entryOf(store, run, version - 1);
      const target = await entryOf(store, run, restores);
      return store.append(rollbackEntry(head, target, hyperparameters));
    },
  );
}

async function entryOf(store: Store, run: string, version: number): Promise<LogEntry> {
  const entry = await store.entry(run, version);
  if (entry !== undefined) return entry;
  throw new RekindleError(
    'RunNotFoundError',
    `run ${run} has no policy version ${version} in ${store.location}`,
  );
}
