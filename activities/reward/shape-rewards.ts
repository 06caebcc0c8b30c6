/**
 * From the trajectories of an iteration to training rows: what is too old for the policy that learns is left out, the rest gets
 * its advantages. Pure functions of core, given the trajectories and the commit log.
 */
import { shapeRewardsInputSchema, shapeRewardsResultSchema } from '../../core/contracts.ts';
import { keys } from '../../core/ids.ts';
import { rowSchema, type Metrics } from '../../core/records.ts';
import { shapeBatch } from '../../core/shaping.ts';
import { schedulingOf, type Scheduling } from '../../core/scheduling.ts';
import { placeOf, type Judged } from '../../core/staleness.ts';
import { judgeByLog } from '../../store/judge-staleness.ts';
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
    async ({ run, iteration, parent, trajectories }) => {
      const { recipe } = await openedRun(store, run);
      const scheduling = schedulingOf(recipe);
      return memoise(
        store,
        run,
        keys.shapedRewards(iteration, parent + 1),
        shapeRewardsResultSchema,
        provenance(),
        async () => {
          const judged = await judgeByLog(
            store,
            { run, parent, trajectories: await readTrajectories(store, trajectories) },
            scheduling,
          );
          const { rows, metrics, outcomes } = shapeBatch(judged.trajectories, {
            ...recipe.algorithm,
            maxNewTokens: recipe.rollout.maxNewTokens,
          });
          for (const row of rows) if (judged.corrected.has(placeOf(row))) row.overStale = true;
          return {
            rows: rows.length === 0 ? null : await putJsonl(store, rows, rowSchema),
            rowCount: rows.length,
            metrics: { ...metrics, ...stalenessMetrics(judged, scheduling) },
            outcomes,
          };
        },
      );
    },
  );
}

/** Where nothing is rolled out ahead, only a rollback can make anything of this more than 0. */
function stalenessMetrics({ metrics }: Judged, { lookahead }: Scheduling): Metrics {
  return lookahead > 0 || metrics['staleness/rolled_back']! > 0 ? metrics : {};
}
