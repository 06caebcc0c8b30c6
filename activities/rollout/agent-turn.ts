/** One model call of one episode, recorded under its coordinates; a retry finds it or makes the very same one. */
import { agentTurnResultSchema, episodeTurnSchema } from '../../core/contracts.ts';
import { turnSchema, type Turn } from '../../core/records.ts';
import type { Completion } from '../../gpu/engine-port.ts';
import { memoise } from '../../store/memo.ts';
import { readTasks } from '../data/batches.ts';
import { defineActivity } from '../define-activity.ts';
import { singleTurn } from '../environment/single-turn.ts';
import { cancellation, provenance } from '../execution.ts';
import { openedRun } from '../run/opening.ts';
import type { RolloutActivities } from '../interface.ts';
import { engineFor, type Services } from '../services.ts';
import { weightsSource } from '../weights/weights-source.ts';
import { readConversation, turnKey } from './conversation.ts';
import { promptIds } from './prompts.ts';
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
        const { turns, replies } = await readConversation(store, episode);
        const observationIds =
          turn === 0 ? await firstObservation() : tokenizer.encode(observationOf(replies[turn - 1]));
        const context = turns
          .slice(0, turn)
          .flatMap(({ observationIds, responseIds }) => [...observationIds, ...responseIds]);
        const engine = engineFor(services, episode.run, opened);
        await engine.load(await weightsSource(store, opened, episode.weights));
        const { group, sample, iteration, hyperparameters } = episode;
        let completion: Completion | undefined;
        await engine.generate(
          {
            weights: episode.weights.hash,
            prompts: [
              {
                ids: [...context, ...observationIds],
                seeds: [sampleSeed(recipe.seed, iteration, group, sample, turn)],
              },
            ],
            sampling: samplingOf(recipe, 'training', hyperparameters, tokenizer.stopIds),
          },
          ([only]) => (completion = only),
          cancellation(),
        );
        const { ids: responseIds, logprobs, finish } = completion!;
        return {
          observationIds,
          responseIds,
          logprobs,
          spans: [{ version: episode.version, tokens: responseIds.length }],
          finish: finish === 'stop' ? 'stop' : 'length',
        };
      },
    );
    return { tokens: recorded.responseIds.length };

    async function firstObservation(): Promise<number[]> {
      const [task] = await readTasks(store, episode.batch, episode.group, 1);
      return promptIds(recipe, tokenizer, singleTurn(recipe.rewards).open(task!));
    }
  });
}

function observationOf(reply: { observation?: string } | object | undefined): string {
  return reply !== undefined && 'observation' in reply && typeof reply.observation === 'string'
    ? reply.observation
    : '';
}
