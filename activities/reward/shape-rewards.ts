/** From the trajectories of an iteration to training rows: filters and advantages, by pure functions of core. */
import { shapeRewardsInputSchema, shapeRewardsResultSchema } from '../../core/contracts.ts';
import { keys } from '../../core/ids.ts';
import { rowSchema } from '../../core/records.ts';
import { shapeBatch } from '../../core/shaping.ts';
import { putJsonl } from '../../store/jsonl.ts';
import { memoise } from '../../store/memo.ts';
import { defineActivity } from '../define-activity.ts';
import { provenance } from '../execution.ts';
import { readTrajectories } from '../rollout/trajectories.ts';
import { openedRun } from '../run/opening.ts';
import type { CpuActivities } from '../interface.ts';
import type { Services } from '../services.ts';

export function shapeRewards({ store }: Services): CpuActivities['shapeRewards'] {
  return defineActivity(
    'shapeRewards',
    shapeRewardsInputSchema,
    shapeRewardsResultSchema,
    async ({ run, iteration, trajectories }) => {
      const { recipe } = await openedRun(store, run);
      return memoise(
        store,
        run,
        keys.shapedRewards(iteration),
        shapeRewardsResultSchema,
        provenance(),
        async () => {
          const { rows, metrics, outcomes } = shapeBatch(
            await readTrajectories(store, trajectories),
            recipe.algorithm,
          );
          return {
            rows: rows.length === 0 ? null : await putJsonl(store, rows, rowSchema),
            rowCount: rows.length,
            metrics,
            outcomes,
          };
        },
      );
    },
  );
}
