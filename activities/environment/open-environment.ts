/** The first observation of an episode whose environment is a program, recorded under the episode's coordinates. */
import { environmentStepResultSchema, openEnvironmentInputSchema } from '../../core/contracts.ts';
import { hostQueue, keys } from '../../core/ids.ts';
import { memoise } from '../../store/memo.ts';
import { readTasks } from '../data/batches.ts';
import { defineActivity } from '../define-activity.ts';
import { cancellation, provenance } from '../execution.ts';
import { episodeSoFar, openingKey } from '../rollout/conversation.ts';
import { openedRun } from '../run/opening.ts';
import type { EnvActivities } from '../interface.ts';
import type { Services } from '../services.ts';
import { environmentOf } from './environment-of.ts';
import { environmentReplySchema } from './environment-reply.ts';
import { openEpisode } from './reply-to-turn.ts';

export function openEnvironment({ store, programs, host }: Services): EnvActivities['openEnvironment'] {
  return defineActivity(
    'openEnvironment',
    openEnvironmentInputSchema,
    environmentStepResultSchema,
    async ({ episode }) => {
      const { recipe } = await openedRun(store, episode.run);
      const { run, iteration, group, sample } = episode;
      const reply = await memoise(
        store,
        run,
        openingKey(episode),
        environmentReplySchema,
        provenance(),
        async () => {
          const [task] = await readTasks(store, episode.batch, group, 1);
          const key = keys.episode(iteration, group, sample);
          const said = { task: task!, observations: [], responses: [] };
          return openEpisode(
            environmentOf(recipe, programs),
            episodeSoFar(episode, key, recipe.seed, said),
            cancellation(),
          );
        },
      );
      return { done: 'verdict' in reply, queue: hostQueue('env', host) };
    },
  );
}
