/** Brings the run folder's metrics up to the head of the log; running it twice changes nothing. */
import { publishMetricsInputSchema, publishMetricsResultSchema } from '../../core/contracts.ts';
import { publishMetrics as publish } from '../../store/metrics-file.ts';
import { createRunFolder } from '../../store/run-folder.ts';
import { defineActivity } from '../define-activity.ts';
import type { CpuActivities } from '../interface.ts';
import type { Services } from '../services.ts';

export function publishMetrics({ store, runsFolder }: Services): CpuActivities['publishMetrics'] {
  return defineActivity(
    'publishMetrics',
    publishMetricsInputSchema,
    publishMetricsResultSchema,
    async ({ run }) => ({
      published: await publish(store, run, await createRunFolder(runsFolder, 'training', run)),
    }),
  );
}
