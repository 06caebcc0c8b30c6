/** Task batches: which tasks an iteration or an evaluation works on. A pure function of recipe and iteration, recorded once. */
import {
  evaluationBatchInputSchema,
  prepareBatchInputSchema,
  prepareBatchResultSchema,
  type PrepareBatchResult,
} from '../../core/contracts.ts';
import { keys } from '../../core/ids.ts';
import { taskSchema, type Task } from '../../core/records.ts';
import type { Ref } from '../../core/refs.ts';
import { getJsonl, putJsonl } from '../../store/jsonl.ts';
import { memoise } from '../../store/memo.ts';
import type { Store } from '../../store/store.ts';
import { defineActivity } from '../define-activity.ts';
import { provenance } from '../execution.ts';
import { openedRun } from '../run/opening.ts';
import type { CpuActivities } from '../interface.ts';
import type { Services } from '../services.ts';
import { openDataSet } from './open-data-set.ts';

export function prepareBatch({ store }: Services): CpuActivities['prepareBatch'] {
  return defineActivity(
    'prepareBatch',
    prepareBatchInputSchema,
    prepareBatchResultSchema,
    async ({ run, iteration }) => {
      const { recipe } = await openedRun(store, run);
      return memoise(store, run, keys.batch(iteration), prepareBatchResultSchema, provenance(), async () => {
        const data = await openDataSet(recipe.data, 'train', recipe.seed);
        const tasks = recipe.rollout.tasksPerIteration;
        return writeBatch(store, (cursor) => data.taskAt(cursor), (iteration - 1) * tasks, tasks);
      });
    },
  );
}

export function prepareEvaluation({ store }: Services): CpuActivities['prepareEvaluation'] {
  return defineActivity(
    'prepareEvaluation',
    evaluationBatchInputSchema,
    prepareBatchResultSchema,
    async ({ run }) => {
      const { recipe } = await openedRun(store, run);
      return memoise(store, run, keys.evaluationBatch(), prepareBatchResultSchema, provenance(), async () => {
        const data = await openDataSet(recipe.data, 'evaluation', recipe.seed);
        const wanted = recipe.evaluation?.tasks ?? 0;
        return writeBatch(store, (cursor) => data.taskAt(cursor), 0, Math.min(wanted, data.size ?? wanted));
      });
    },
  );
}

async function writeBatch(
  store: Store,
  taskAt: (cursor: number) => Task,
  firstCursor: number,
  count: number,
): Promise<PrepareBatchResult> {
  const tasks = Array.from({ length: count }, (_, i) => taskAt(firstCursor + i));
  const batch = await putJsonl(store, tasks, taskSchema);
  return { batch, tasks: count, firstCursor, nextCursor: firstCursor + count };
}

/** The tasks of a batch from group `first` on. */
export async function readTasks(store: Store, batch: Ref, first = 0, count = Infinity): Promise<Task[]> {
  return (await getJsonl(store, batch, taskSchema)).slice(first, first + count);
}
