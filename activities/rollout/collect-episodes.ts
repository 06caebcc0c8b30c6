/** Episodes that ran as workflows of their own, brought together as one shard. */
import { collectEpisodesInputSchema, rolloutShardResultSchema } from '../../core/contracts.ts';
import { RekindleError } from '../../core/errors.ts';
import { keys } from '../../core/ids.ts';
import { trajectorySchema, type Trajectory } from '../../core/records.ts';
import { putJsonl } from '../../store/jsonl.ts';
import { memoise } from '../../store/memo.ts';
import { readTasks } from '../data/batches.ts';
import { defineActivity } from '../define-activity.ts';
import { provenance } from '../execution.ts';
import { openedRun } from '../run/opening.ts';
import type { CpuActivities } from '../interface.ts';
import type { Services } from '../services.ts';
import { readConversation } from './conversation.ts';
import { summarizeShard } from './summarize-shard.ts';
import { trajectoryOf } from './trajectories.ts';

export function collectEpisodes({ store }: Services): CpuActivities['collectEpisodes'] {
  return defineActivity(
    'collectEpisodes',
    collectEpisodesInputSchema,
    rolloutShardResultSchema,
    async (input) => {
      const { run, iteration, shard } = input;
      const { recipe, tokenizer } = await openedRun(store, run);
      return memoise(
        store,
        run,
        keys.shard(iteration, shard),
        rolloutShardResultSchema,
        provenance(),
        async () => {
          const tasks = await readTasks(store, input.batch, input.firstGroup, input.groups);
          const trajectories: Trajectory[] = [];
          for (const [i, task] of tasks.entries()) {
            for (let sample = 0; sample < recipe.rollout.groupSize; sample++) {
              const coordinates = { run, iteration, group: input.firstGroup + i, sample };
              const { opening, turns, replies } = await readConversation(store, coordinates);
              const last = replies.at(-1) ?? opening;
              if (last === undefined || !('verdict' in last)) {
                throw new RekindleError(
                  'StoreError',
                  `episode ${coordinates.group}/${sample} of iteration ${iteration} has no verdict`,
                );
              }
              trajectories.push(trajectoryOf(coordinates, task, turns, last.verdict, tokenizer));
            }
          }
          const ref = await putJsonl(store, trajectories, trajectorySchema);
          return summarizeShard(trajectories, [ref], (Date.now() - Date.parse(input.startedAt)) / 1000);
        },
      );
    },
  );
}
