/** Says what keeps a run from going on, for its workflow, which cannot ask Temporal itself. */
import { examineRunInputSchema, examineRunResultSchema } from '../../core/contracts.ts';
import { whatIsStuck } from '../../core/stuck.ts';
import { defineActivity } from '../define-activity.ts';
import type { CpuActivities } from '../interface.ts';
import type { Services } from '../services.ts';
import { pendingWork, type TemporalPort } from './pending-work.ts';
import { usualSeconds } from './usual-seconds.ts';

export function examineRun({ store }: Services, temporal: TemporalPort): CpuActivities['examineRun'] {
  return defineActivity('examineRun', examineRunInputSchema, examineRunResultSchema, async ({ run }) => {
    const [work, usual] = await Promise.all([pendingWork(temporal, run), usualSeconds(store, run)]);
    return { stuck: whatIsStuck(work, Date.now(), { usual })[0] ?? null };
  });
}
