/** Task batches: which tasks an iteration or an evaluation works on. Recorded once, with the hyperparameters then in force. */
import { prepareBatchInputSchema, prepareBatchResultSchema, type Batch } from '../../core/contracts.ts';
import type { DataSet } from '../../core/data/data-set.ts';
import { keys } from '../../core/ids.ts';
import type { Recipe } from '../../core/recipe.ts';
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
    async ({ run, iteration, hyperparameters }) => {
      const { recipe } = await openedRun(store, run);
      return memoise(store, run, keys.batch(iteration), prepareBatchResultSchema, provenance(), async () => {
        const data = await openDataSet(recipe.data, 'train', recipe.seed);
        const tasks = recipe.rollout.tasksPerIteration;
        const firstCursor = (iteration - 1) * tasks;
        const batch = await writeBatch(store, data, firstCursor, tasks);
        return { ...batch, firstCursor, nextCursor: firstCursor + tasks, hyperparameters };
      });
    },
  );
}

/** The held-out tasks of a run; null for a recipe without evaluation. Throws DataError as the data set does. */
export async function evaluationBatch(store: Store, recipe: Recipe): Promise<Batch | null> {
  if (recipe.evaluation === undefined) return null;
  const data = await openDataSet(recipe.data, 'evaluation', recipe.seed);
  const wanted = recipe.evaluation.tasks;
  return writeBatch(store, data, 0, Math.min(wanted, data.size ?? wanted));
}

async function writeBatch(store: Store, data: DataSet, firstCursor: number, count: number): Promise<Batch> {
  const tasks = Array.from({ length: count }, (_, i) => data.taskAt(firstCursor + i));
  return { batch: await putJsonl(store, tasks, taskSchema), tasks: count };
}

/** The tasks of a batch from group `first` on. */
export async function readTasks(store: Store, batch: Ref, first = 0, count = Infinity): Promise<Task[]> {
  return (await getJsonl(store, batch, taskSchema)).slice(first, first + count);
}
