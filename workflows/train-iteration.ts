/**
 * One iteration: prepare batch → roll out → shape rewards → update actor → commit → sync weights → publish.
 * It returns the log entry that it committed. Every step is keyed by (run, iteration), so repeating any of them changes nothing.
 */
import { log, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { Candidate, Policy, RolloutShardResult } from '../core/contracts.ts';
import type { LogEntry } from '../core/records.ts';
import { cpu, rollout, tolerant, train } from './activities.ts';
import { rollOut, shardsOf } from './roll-out.ts';
import type { TrainIterationInput } from './train-iteration-input.ts';
import { phase, type PhaseState } from './steering.ts';

export async function trainIteration(input: TrainIterationInput): Promise<LogEntry> {
  const { run, iteration, recipe, policy } = input;
  const { heartbeatSeconds } = recipe.schedule;
  const startedAt = Date.now();
  const state = trackPhase(input);

  state.enter('prepare');
  const batch = await cpu(heartbeatSeconds).prepareBatch({
    run,
    iteration,
    hyperparameters: input.hyperparameters,
  });
  const { hyperparameters } = batch;

  const shardCount = shardsOf(batch.tasks, recipe.rollout.tasksPerShard ?? batch.tasks).length;
  const rolloutStartedAt = state.enter('rollout', shardCount);
  const shards = await rollOut(input, batch, state.advance);
  const trajectories = shards.flatMap((shard) => shard.trajectories);

  const rewardStartedAt = state.enter('reward');
  const shaped = await cpu(heartbeatSeconds).shapeRewards({ run, iteration, trajectories });

  const updateStartedAt = state.enter('update');
  const candidate =
    shaped.rows === null
      ? unchanged(policy)
      : await train(heartbeatSeconds).updateActor({
          run,
          iteration,
          parent: policy,
          reference: input.reference,
          rows: shaped.rows,
          hyperparameters,
        });

  const commitStartedAt = state.enter('commit');
  const entry = await cpu(heartbeatSeconds).commitVersion({
    entry: {
      run,
      version: policy.version + 1,
      parent: policy.weights.hash,
      kind: 'reinforcement',
      iteration,
      update: shaped.rows === null ? 'no-signal' : candidate.update,
      weights: candidate.weights,
      optimizer: candidate.optimizer,
      optimizerStep: candidate.optimizerStep,
      batch: batch.batch,
      trajectories,
      rows: shaped.rows,
      outcomes: shaped.outcomes,
      hyperparameters,
      metrics: {
        ...shaped.metrics,
        ...candidate.metrics,
        ...throughput(shards, (rewardStartedAt - rolloutStartedAt) / 1000),
        'time/update_seconds': (commitStartedAt - updateStartedAt) / 1000,
        'time/iteration_seconds': (commitStartedAt - startedAt) / 1000,
      },
      phaseFinished: false,
    },
  });

  state.enter('sync');
  await Promise.all([
    rollout(heartbeatSeconds).syncWeights({ run, version: entry.version, weights: entry.weights }),
    tolerant(heartbeatSeconds)
      .publishMetrics({ run, version: entry.version })
      .catch((error: unknown) =>
        log.warn('metrics were not published; the next iteration publishes them', { error }),
      ),
  ]);
  return entry;
}

function unchanged(policy: Policy): Candidate {
  return {
    update: 'applied',
    weights: policy.weights,
    optimizer: policy.optimizer,
    optimizerStep: policy.optimizerStep,
    metrics: {},
    phaseFinished: false,
  };
}

function throughput(shards: RolloutShardResult[], seconds: number): Record<string, number> {
  const tokens = shards.reduce((sum, shard) => sum + shard.generatedTokens, 0);
  return {
    'time/rollout_seconds': seconds,
    'tokens/generated': tokens,
    'tokens/generated_per_second': seconds > 0 ? tokens / seconds : 0,
  };
}

/** Keeps the query `phase` and the details in the Web UI up to date. */
function trackPhase(input: TrainIterationInput): {
  enter(name: PhaseState['phase'], total?: number): number;
  advance(): void;
} {
  const current: PhaseState = { phase: 'prepare', since: new Date().toISOString(), done: 0, total: 1 };
  setHandler(phase, () => current);
  const show = () =>
    setCurrentDetails(
      `Iteration **${input.iteration}** of ${input.recipe.training.iterations}, policy version ${input.policy.version}: ` +
        `**${current.phase}** (${current.done} of ${current.total})`,
    );
  return {
    enter(name, total = 1) {
      Object.assign(current, { phase: name, since: new Date().toISOString(), done: 0, total });
      show();
      return Date.now();
    },
    advance() {
      current.done += 1;
      show();
    },
  };
}
