/** The environment's answer to one turn, recorded under the episode's coordinates. */
import { environmentStepResultSchema, episodeTurnSchema } from '../../core/contracts.ts';
import { hostQueue, keys } from '../../core/ids.ts';
import { memoise } from '../../store/memo.ts';
import { readTasks } from '../data/batches.ts';
import { defineActivity } from '../define-activity.ts';
import { cancellation, provenance } from '../execution.ts';
import {
  episodeSoFar,
  observationsOf,
  readConversation,
  responsesOf,
  stepKey,
} from '../rollout/conversation.ts';
import { hasRoomAfter } from '../rollout/room.ts';
import { openedRun } from '../run/opening.ts';
import type { EnvActivities } from '../interface.ts';
import type { Services } from '../services.ts';
import { environmentOf } from './environment-of.ts';
import { environmentReplySchema } from './environment-reply.ts';
import { replyToTurn } from './reply-to-turn.ts';

export function environmentStep({ store, programs, host }: Services): EnvActivities['environmentStep'] {
  return defineActivity(
    'environmentStep',
    episodeTurnSchema,
    environmentStepResultSchema,
    async ({ episode, turn }) => {
      const opened = await openedRun(store, episode.run);
      const { recipe, tokenizer } = opened;
      const { run, iteration, group, sample } = episode;
      const reply = await memoise(
        store,
        run,
        stepKey(episode, turn),
        environmentReplySchema,
        provenance(),
        async () => {
          const [task] = await readTasks(store, episode.batch, group, 1);
          const conversation = await readConversation(store, episode);
          const turns = conversation.turns.slice(0, turn + 1);
          const soFar = episodeSoFar(episode, keys.episode(iteration, group, sample), recipe.seed, {
            task: task!,
            observations: observationsOf(conversation, task!, turn + 1),
            responses: responsesOf(turns, tokenizer),
          });
          const limits = {
            truncated: turns.at(-1)!.finish === 'length',
            hasRoomAfter: (observation: string) => hasRoomAfter(opened, 'training', turns, observation),
          };
          return replyToTurn(environmentOf(recipe, programs), soFar, limits, cancellation());
        },
      );
      return { done: 'verdict' in reply, queue: hostQueue('env', host) };
    },
  );
}
