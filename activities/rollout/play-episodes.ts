/**
 * Plays episodes of a shard side by side, all on one engine, and persists each batch of finished ones. Where the recipe says so, newer
 * weights take over in the midst of it, and what is late is given up.
 */
import { log } from '@temporalio/activity';
import type { RolloutShardInput } from '../../core/contracts.ts';
import { opensProgram } from '../../core/environments.ts';
import { keys } from '../../core/ids.ts';
import type { Task, Trajectory } from '../../core/records.ts';
import { schedulingOf } from '../../core/scheduling.ts';
import { dropReasons, placeOf } from '../../core/staleness.ts';
import type { ShardParts } from '../../store/shard-parts.ts';
import type { Verdict } from '../environment/environment-reply.ts';
import { environmentOf } from '../environment/environment-of.ts';
import { cancellation } from '../execution.ts';
import type { OpenedRun } from '../run/opening.ts';
import { engineFor, type Services } from '../services.ts';
import { actingPolicy, keptPolicies, type ActingPolicy } from '../weights/acting-policy.ts';
import { weightsSource } from '../weights/weights-source.ts';
import type { BegunEpisode } from './begun-episodes.ts';
import { inLanes } from './in-lanes.ts';
import { interrupting } from './interruptions.ts';
import { playEpisode } from './play-episode.ts';
import { PolicySampler } from './policy-sampler.ts';
import { observationIds } from './prompts.ts';
import { sampleSeed, samplingOf } from './sampling.ts';
import { trajectoryOf } from './trajectories.ts';

interface MissingEpisode {
  task: Task;
  group: number;
  sample: number;
}

export interface EpisodesToPlay {
  missing: readonly MissingEpisode[];
  /** Those of them that were begun before. */
  begun: readonly BegunEpisode[];
  /** Where finished ones go. */
  parts: ShardParts;
}

/** Returns the episodes that were begun and not finished; only late ones that the recipe lets go on. */
export async function playEpisodes(
  services: Services,
  opened: OpenedRun,
  input: RolloutShardInput,
  { missing, begun, parts }: EpisodesToPlay,
): Promise<BegunEpisode[]> {
  const { recipe, tokenizer } = opened;
  const { run, iteration, purpose } = input;
  const { store } = services;
  const environment = environmentOf(recipe, services.programs);
  const engine = engineFor(services, run, opened);
  const scheduling = purpose === 'training' ? schedulingOf(recipe) : null;
  const load = async ({ weights }: ActingPolicy) =>
    engine.load(await weightsSource(store, opened, weights), keptPolicies(recipe));
  const policy = scheduling === null ? input : await actingPolicy(store, recipe, input);
  await load(policy);

  const sampling = samplingOf(recipe, purpose, input.hyperparameters, tokenizer.stopIds);
  const persisting = inBatches(recipe.rollout.persistEvery, (batch: Trajectory[]) => parts.append(batch));
  const promptIds = remembered((text) => observationIds(opened, [], text));
  // More programs than sequences that are decoded together would only wait.
  const lanes = opensProgram(recipe) ? recipe.engine.slots : missing.length;
  const turnsBegun = new Map(begun.map((episode) => [placeOf(episode), episode.turns]));
  const unfinished: BegunEpisode[] = [];
  const over = new AbortController();

  await inLanes(missing, lanes, cancellation(), (signal) => {
    const sampler = new PolicySampler({ engine, sampling, policy, signal });
    if (scheduling !== null)
      interrupting(sampler, scheduling, {
        newest: () => actingPolicy(store, recipe, { run, ...sampler.policy }),
        load,
        signal: AbortSignal.any([signal, over.signal]),
        warn: (message, error) => void log.warn(message, { run, iteration, error }),
      });
    return async ({ task, group, sample }) => {
      const coordinates = { run, iteration, group, sample };
      const earlierTurns = turnsBegun.get(placeOf(coordinates)) ?? [];
      const { turns, verdict } = await playEpisode(
        {
          ...{ opened, environment, purpose, task, coordinates },
          key: episodeKey(input, group, sample),
          observationIds: (earlier, text) =>
            earlier.length === 0 ? promptIds(text) : observationIds(opened, earlier, text),
          respond: (ids, turn) =>
            sampler.sample(ids, sampleSeed(recipe.seed, iteration, group, sample, turn), earlierTurns[turn]),
        },
        signal,
      );
      if (verdict !== null) persisting.add(trajectoryOf(coordinates, task, turns, verdict, tokenizer));
      else if (scheduling?.stragglers?.then === 'drop')
        persisting.add(trajectoryOf(coordinates, task, turns, late, tokenizer));
      else unfinished.push({ group, sample, turns });
    };
  }).finally(() => {
    over.abort();
    return persisting.end();
  });
  return unfinished;
}

const late: Verdict = { outcome: 'dropped', reason: dropReasons.straggler, rewards: {}, reward: 0 };

function episodeKey(
  { purpose, iteration, version }: RolloutShardInput,
  group: number,
  sample: number,
): string {
  return purpose === 'training'
    ? keys.episode(iteration, group, sample)
    : keys.evaluationEpisode(version, group);
}

/** Hands items on in batches, one batch after another. `end` hands on the rest and throws the first failure. */
function inBatches<T>(
  size: number,
  handOn: (batch: T[]) => Promise<unknown>,
): { add(item: T): void; end(): Promise<void> } {
  let pending: T[] = [];
  let handedOn: Promise<unknown> = Promise.resolve();
  const flush = () => {
    const batch = pending;
    pending = [];
    handedOn = handedOn.then(() => handOn(batch));
    handedOn.catch(() => undefined); // reported by `end`
  };
  return {
    add(item) {
      pending.push(item);
      if (pending.length >= size) flush();
    },
    async end() {
      if (pending.length > 0) flush();
      await handedOn;
    },
  };
}

function remembered<T>(make: (text: string) => T): (text: string) => T {
  const made = new Map<string, T>();
  return (text) => {
    const known = made.get(text) ?? make(text);
    made.set(text, known);
    return known;
  };
}
