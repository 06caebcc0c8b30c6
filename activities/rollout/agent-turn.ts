/** One model call of one episode, recorded under its coordinates; a retry finds it or makes the very same one. */
import { agentTurnResultSchema, episodeTurnSchema } from '../../core/contracts.ts';
import { hostQueue } from '../../core/ids.ts';
import { turnSchema, type Turn } from '../../core/records.ts';
import { memoise } from '../../store/memo.ts';
import { readTasks } from '../data/batches.ts';
import { defineActivity } from '../define-activity.ts';
import { cancellation, provenance } from '../execution.ts';
import { openedRun } from '../run/opening.ts';
import type { RolloutActivities } from '../interface.ts';
import { engineFor, type Services } from '../services.ts';
import { actingPolicy, keptPolicies } from '../weights/acting-policy.ts';
import { weightsSource } from '../weights/weights-source.ts';
import { observationsOf, readConversation, turnKey } from './conversation.ts';
import { contextOf } from './play-episode.ts';
import { PolicySampler } from './policy-sampler.ts';
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
        const policy = await actingPolicy(store, recipe, episode);
        const engine = engineFor(services, episode.run, opened);
        await engine.load(await weightsSource(store, opened, policy.weights), keptPolicies(recipe));
        const { group, sample, iteration, hyperparameters } = episode;
        const sampler = new PolicySampler({
          engine,
          sampling: samplingOf(recipe, 'training', hyperparameters, tokenizer.stopIds),
          policy,
          signal: cancellation(),
        });
        const response = await sampler.sample(
          [...contextOf(turns), ...nextIds],
          sampleSeed(recipe.seed, iteration, group, sample, turn),
        );
        return { observationIds: nextIds, ...response };
      },
    );
    return { tokens: recorded.responseIds.length, queue: hostQueue('rollout', services.host) };
  });
}
