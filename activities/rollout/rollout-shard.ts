/**
 * Rolls out one shard: every (group, sample) of its groups once. Finished trajectories are persisted as they come, so a retry
 * plays only what is missing; since a sample's tokens depend on its coordinates alone, who generates them does not matter.
 */
import {
  rolloutShardInputSchema,
  rolloutShardResultSchema,
  type RolloutShardInput,
  type RolloutShardResult,
} from '../../core/contracts.ts';
import { opensProgram } from '../../core/environments.ts';
import { keys } from '../../core/ids.ts';
import type { Task, Trajectory } from '../../core/records.ts';
import { memoise } from '../../store/memo.ts';
import { openShardParts } from '../../store/shard-parts.ts';
import { readTasks } from '../data/batches.ts';
import { defineActivity } from '../define-activity.ts';
import { environmentOf } from '../environment/environment-of.ts';
import { cancellation, provenance } from '../execution.ts';
import { openedRun, type OpenedRun } from '../run/opening.ts';
import type { RolloutActivities } from '../interface.ts';
import { engineFor, type Services } from '../services.ts';
import { weightsSource } from '../weights/weights-source.ts';
import { inLanes } from './in-lanes.ts';
import { playEpisode } from './play-episode.ts';
import { observationIds } from './prompts.ts';
import { sampleSeed, samplingOf } from './sampling.ts';
import { summarizeShard } from './summarize-shard.ts';
import { trajectoryOf } from './trajectories.ts';
import { TurnQueue } from './turn-queue.ts';

export function rolloutShard(services: Services): RolloutActivities['rolloutShard'] {
  return defineActivity('rolloutShard', rolloutShardInputSchema, rolloutShardResultSchema, (input) =>
    memoise(services.store, input.run, shardKey(input), rolloutShardResultSchema, provenance(), () =>
      rollOut(services, input),
    ),
  );
}

function shardKey(input: RolloutShardInput): string {
  return input.purpose === 'training'
    ? keys.shard(input.iteration, input.shard)
    : keys.evaluationShard(input.version, input.shard);
}

function episodeKey(
  { purpose, iteration, version }: RolloutShardInput,
  group: number,
  sample: number,
): string {
  return purpose === 'training'
    ? keys.episode(iteration, group, sample)
    : keys.evaluationEpisode(version, group);
}

async function rollOut(services: Services, input: RolloutShardInput): Promise<RolloutShardResult> {
  const startedAt = Date.now();
  const { store } = services;
  const opened = await openedRun(store, input.run);
  const tasks = await readTasks(store, input.batch, input.firstGroup, input.groups);
  const samples = input.purpose === 'training' ? opened.recipe.rollout.groupSize : 1;
  const parts = openShardParts(store, input.run, shardKey(input), provenance());
  const finished = await parts.finished();
  const done = new Set(finished.map(({ group, sample }) => `${group}/${sample}`));
  const missing = tasks.flatMap((task, i) => {
    const group = input.firstGroup + i;
    return range(samples)
      .filter((sample) => !done.has(`${group}/${sample}`))
      .map((sample) => ({ task, group, sample }));
  });
  if (missing.length > 0)
    await playMissing(services, input, opened, missing, (trajectories) => parts.append(trajectories));
  return summarizeShard(await parts.finished(), await parts.refs(), (Date.now() - startedAt) / 1000);
}

interface MissingEpisode {
  task: Task;
  group: number;
  sample: number;
}

async function playMissing(
  services: Services,
  input: RolloutShardInput,
  opened: OpenedRun,
  missing: MissingEpisode[],
  persist: (trajectories: Trajectory[]) => Promise<unknown>,
): Promise<void> {
  const { recipe, tokenizer } = opened;
  const { run, iteration, purpose, version } = input;
  const environment = environmentOf(recipe, services.programs);
  const engine = engineFor(services, run, opened);
  await engine.load(await weightsSource(services.store, opened, input.weights));
  const sampling = samplingOf(recipe, purpose, input.hyperparameters, tokenizer.stopIds);
  const persisting = inBatches(recipe.rollout.persistEvery, persist);
  const promptIds = remembered((text) => observationIds(opened, [], text));
  // More programs than sequences that are decoded together would only wait.
  const lanes = opensProgram(recipe) ? recipe.engine.slots : missing.length;

  await inLanes(missing, lanes, cancellation(), (signal) => {
    const queue = new TurnQueue((prompts, onCompletions) =>
      engine.generate({ weights: input.weights.hash, prompts, sampling }, onCompletions, signal),
    );
    return async ({ task, group, sample }) => {
      const coordinates = { run, iteration, group, sample };
      const { turns, verdict } = await playEpisode(
        {
          ...{ opened, environment, purpose, task, coordinates, version },
          key: episodeKey(input, group, sample),
          observationIds: (earlier, text) =>
            earlier.length === 0 ? promptIds(text) : observationIds(opened, earlier, text),
          respond: (ids, turn) => queue.sample(ids, sampleSeed(recipe.seed, iteration, group, sample, turn)),
        },
        signal,
      );
      persisting.add(trajectoryOf(coordinates, task, turns, verdict, tokenizer));
    };
  }).finally(() => persisting.end());
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

function range(length: number): number[] {
  return Array.from({ length }, (_, i) => i);
}
