/**
 * Rolls out one shard: every (group, sample) of its groups once. Finished trajectories are persisted as they come, so a retry
 * generates only what is missing; since a sample's tokens depend on its coordinates alone, who generates them does not matter.
 */
import {
  rolloutShardInputSchema,
  rolloutShardResultSchema,
  type RolloutShardInput,
  type RolloutShardResult,
} from '../../core/contracts.ts';
import { RekindleError } from '../../core/errors.ts';
import { keys } from '../../core/ids.ts';
import type { Task, Trajectory } from '../../core/records.ts';
import type { Completion } from '../../gpu/engine-port.ts';
import { memoise } from '../../store/memo.ts';
import { openShardParts } from '../../store/shard-parts.ts';
import { readTasks } from '../data/batches.ts';
import { defineActivity } from '../define-activity.ts';
import { singleTurn } from '../environment/single-turn.ts';
import { cancellation, provenance } from '../execution.ts';
import { openedRun, type OpenedRun } from '../run/opening.ts';
import type { RolloutActivities } from '../interface.ts';
import { engineFor, type Services } from '../services.ts';
import { weightsSource } from '../weights/weights-source.ts';
import { promptIds } from './prompts.ts';
import { sampleSeed, samplingOf } from './sampling.ts';
import { summarizeShard } from './summarize-shard.ts';

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

async function rollOut(services: Services, input: RolloutShardInput): Promise<RolloutShardResult> {
  const startedAt = Date.now();
  const { store } = services;
  const opened = await openedRun(store, input.run);
  const tasks = await readTasks(store, input.batch, input.firstGroup, input.groups);
  const samples = input.purpose === 'training' ? opened.recipe.rollout.groupSize : 1;

  const parts = openShardParts(store, input.run, shardKey(input), provenance());
  const finished = await parts.finished();
  const done = new Set(finished.map(({ group, sample }) => `${group}/${sample}`));
  const missing = tasks
    .map((task, i) => ({
      task,
      group: input.firstGroup + i,
      samples: range(samples).filter((s) => !done.has(`${input.firstGroup + i}/${s}`)),
    }))
    .filter((group) => group.samples.length > 0);

  if (missing.length > 0)
    await generateMissing(services, input, opened, missing, (trajectories) => parts.append(trajectories));
  return summarizeShard(await parts.finished(), await parts.refs(), (Date.now() - startedAt) / 1000);
}

interface MissingGroup {
  task: Task;
  group: number;
  samples: number[];
}

async function generateMissing(
  services: Services,
  input: RolloutShardInput,
  opened: OpenedRun,
  missing: MissingGroup[],
  persist: (trajectories: Trajectory[]) => Promise<unknown>,
): Promise<void> {
  const { recipe, tokenizer } = opened;
  const environment = singleTurn(recipe.rewards);
  const prompts = missing.map(({ task, group, samples }) => ({
    ids: promptIds(recipe, tokenizer, environment.open(task)),
    seeds: samples.map((sample) => sampleSeed(recipe.seed, input.iteration, group, sample, 0)),
  }));

  const engine = engineFor(services, input.run, opened);
  await engine.load(await weightsSource(services.store, opened, input.weights));

  let pending: Trajectory[] = [];
  let persisted: Promise<unknown> = Promise.resolve();
  const flush = () => {
    const batch = pending;
    pending = [];
    persisted = persisted.then(() => persist(batch));
    persisted.catch(() => undefined); // reported by the await below
  };
  await engine.generate(
    {
      weights: input.weights.hash,
      prompts,
      sampling: samplingOf(recipe, input.purpose, input.hyperparameters, tokenizer.stopIds),
    },
    (completions) => {
      for (const completion of completions) pending.push(toTrajectory(completion));
      if (pending.length >= recipe.rollout.persistEvery) flush();
    },
    cancellation(),
  );
  if (pending.length > 0) flush();
  await persisted;

  function toTrajectory(completion: Completion): Trajectory {
    const { task, group, samples } = missing[completion.prompt]!;
    const response = tokenizer.decode(completion.ids);
    const reply = environment.step(task, [response], completion.finish === 'length');
    if (!('verdict' in reply))
      throw new RekindleError(
        'EnvironmentError',
        `task ${task.id}: a shard rolls out single-turn episodes only`,
      );
    return {
      iteration: input.iteration,
      group,
      sample: samples[completion.sample]!,
      taskId: task.id,
      turns: [
        {
          observationIds: [...prompts[completion.prompt]!.ids],
          responseIds: completion.ids,
          logprobs: completion.logprobs,
          spans: [{ version: input.version, tokens: completion.ids.length }],
          finish: completion.finish === 'stop' ? 'stop' : 'length',
        },
      ],
      response,
      ...reply.verdict,
    };
  }
}

function range(length: number): number[] {
  return Array.from({ length }, (_, i) => i);
}
