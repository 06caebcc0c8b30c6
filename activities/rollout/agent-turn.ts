/** One model call of one episode, recorded under its coordinates; a retry finds it or makes the very same one. */
import { agentTurnResultSchema, episodeTurnSchema } from '../../core/contracts.ts';
import { turnSchema, type Turn } from '../../core/records.ts';
import type { Completion } from '../../gpu/engine-port.ts';
import { memoise } from '../../store/memo.ts';
import { readTasks } from '../data/batches.ts';
import { defineActivity } from '../define-activity.ts';
import { cancellation, provenance } from '../execution.ts';
import { openedRun } from '../run/opening.ts';
import type { RolloutActivities } from '../interface.ts';
import { engineFor, type Services } from '../services.ts';
import { weightsSource } from '../weights/weights-source.ts';
import { observationsOf, readConversation, turnKey } from './conversation.ts';
import { contextOf, turnOf } from './play-episode.ts';
import { observationIds } from './prompts.ts';
import { sampleSeed, samplingOf } from './sampling.ts';

export function agentTurn(services: Services): RolloutActivities['agentTurn'] {
  const { store } = services;
  return defineActivity('agentTurn', episodeTurnSchema, agentTurnResultSchema, async ({ episode, turn }) => {
    const opened = await openedRun(store, episode.run);
    const { recipe, tokenizer } = opened;
    const recorded = await memoise(
      store,
      episode.run,
      turnKey(episode, turn),
      turnSchema,
      provenance(),
      async (): Promise<Turn> => {
        const conversation = await readConversation(store, episode);
        const [task] = await readTasks(store, episode.batch, episode.group, 1);
        const turns = conversation.turns.slice(0, turn);
        const observation = observationsOf(conversation, task!, turn + 1).at(-1)!;
        const nextIds = observationIds(opened, turns, observation);
        const engine = engineFor(services, episode.run, opened);
        await engine.load(await weightsSource(store, opened, episode.weights));
        const { group, sample, iteration, hyperparameters } = episode;
        let completion: Completion | undefined;
        await engine.generate(
          {
            weights: episode.weights.hash,
            prompts: [
              {
                ids: [...contextOf(turns), ...nextIds],
                seeds: [sampleSeed(recipe.seed, iteration, group, sample, turn)],
              },
            ],
            sampling: samplingOf(recipe, 'training', hyperparameters, tokenizer.stopIds),
          },
          ([only]) => (completion = only),
          cancellation(),
        );
        return turnOf(nextIds, completion!, episode.version);
      },
    );
    return { tokens: recorded.responseIds.length };
  });
}
