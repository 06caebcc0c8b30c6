/** The environment's answer to one turn, recorded under the episode's coordinates. */
import { environmentStepResultSchema, episodeTurnSchema } from '../../core/contracts.ts';
import { memoise } from '../../store/memo.ts';
import { readTasks } from '../data/batches.ts';
import { defineActivity } from '../define-activity.ts';
import { provenance } from '../execution.ts';
import { readConversation, stepKey } from '../rollout/conversation.ts';
import { openedRun } from '../run/opening.ts';
import type { EnvActivities } from '../interface.ts';
import type { Services } from '../services.ts';
import { environmentReplySchema } from './environment-reply.ts';
import { singleTurn } from './single-turn.ts';

export function environmentStep({ store }: Services): EnvActivities['environmentStep'] {
  return defineActivity(
    'environmentStep',
    episodeTurnSchema,
    environmentStepResultSchema,
    async ({ episode, turn }) => {
      const { recipe, tokenizer } = await openedRun(store, episode.run);
      const reply = await memoise(
        store,
        episode.run,
        stepKey(episode, turn),
        environmentReplySchema,
        provenance(),
        async () => {
          const [task] = await readTasks(store, episode.batch, episode.group, 1);
          const turns = (await readConversation(store, episode)).turns.slice(0, turn + 1);
          const responses = turns.map(({ responseIds }) => tokenizer.decode(responseIds));
          return singleTurn(recipe.rewards).step(task!, responses, turns.at(-1)?.finish === 'length');
        },
      );
      return { done: 'verdict' in reply };
    },
  );
}
