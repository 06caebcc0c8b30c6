/** Makes a candidate the next policy version: one compare-and-swap on the run's log, whoever retries. */
import { commitVersionInputSchema } from '../../core/contracts.ts';
import { logEntrySchema } from '../../core/records.ts';
import { defineActivity } from '../define-activity.ts';
import type { CpuActivities } from '../interface.ts';
import type { Services } from '../services.ts';

export function commitVersion({ store }: Services): CpuActivities['commitVersion'] {
  return defineActivity('commitVersion', commitVersionInputSchema, logEntrySchema, ({ entry }) =>
    store.append(entry),
  );
}
