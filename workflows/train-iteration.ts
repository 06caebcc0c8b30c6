/**
 * One iteration: prepare batch → roll out → shape rewards → update actor → commit → publish, and sync weights where nothing is
 * rolled out meanwhile. It returns the log entry that it committed. Every step is keyed by (run, iteration), so repeating any of
 * them changes nothing.
 *
 * It may collect ahead of its turn. Then it waits to be handed the policy to learn from, which the iteration before has committed.
 */
import { CancellationScope, condition, log, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { Candidate, Policy, PrepareBatchResult, RolloutShardResult } from '../core/contracts.ts';
import type { LogEntry } from '../core/records.ts';
import { schedulingOf } from '../core/scheduling.ts';
import { cpu, rollout, tolerant, train } from './activities.ts';
import { shardsOf, tasksOfShard } from '../core/sharding.ts';
import { rollOut } from './roll-out.ts';
import { learnFrom, type TrainIterationInput } from './train-iteration-input.ts';
import { phase, type PhaseState } from './steering.ts';

export async function trainIteration(input: TrainIterationInput): Promise<LogEntry> {
  const state = trackPhase(input);
  const turn = awaitTurn(input);
  const collected = await collect(input, state);
  if (turn.parent === null) state.enter('wait');
  await condition(() => turn.parent !== null);
  return learn(input, { parent: turn.parent!, since: turn.since }, collected, state);
}

interface Turn {
  parent: Policy | null;
  /** When it came, in milliseconds since the epoch. */
  since: number;
}

function awaitTurn({ parent }: TrainIterationInput): Turn {
  const turn: Turn = { parent, since: Date.now() };
  setHandler(learnFrom, (handed) => void Object.assign(turn, { parent: handed, since: Date.now() }));
  return turn;
}

interface Collected {
  batch: PrepareBatchResult;
  shards: RolloutShardResult[];
  seconds: number;
  /** When it was all there, in milliseconds since the epoch. */
  at: number;
}

async function collect(input: TrainIterationInput, state: PhaseTracker): Promise<Collected> {
  const { run, iteration, recipe, hyperparameters } = input;
  state.enter('prepare');
  const batch = await cpu(recipe.schedule.heartbeatSeconds).prepareBatch({ run, iteration, hyperparameters });
  const shardCount = shardsOf(batch.tasks, tasksOfShard(recipe, batch.tasks)).length;
  const startedAt = state.enter('rollout', shardCount);
  const shards = await rollOut(input, batch, state.advance);
  const at = Date.now();
  return { batch, shards, seconds: (at - startedAt) / 1000, at };
}

async function learn(
  { run, iteration, recipe, reference }: TrainIterationInput,
  { parent, since }: { parent: Policy; since: number },
  { batch, shards, seconds, at }: Collected,
  state: PhaseTracker,
): Promise<LogEntry> {
  const { heartbeatSeconds } = recipe.schedule;
  const ahead = schedulingOf(recipe).lookahead > 0;
  const { hyperparameters } = batch;
  const trajectories = shards.flatMap((shard) => shard.trajectories);

  const learningSince = state.enter('reward');
  const shaped = await cpu(heartbeatSeconds).shapeRewards({
    run,
    iteration,
    parent: parent.version,
    trajectories,
  });

  const updateStartedAt = state.enter('update');
  const candidate =
    shaped.rows === null
      ? unchanged(parent)
      : await train(heartbeatSeconds).updateActor({
          run,
          iteration,
          parent,
          reference,
          rows: shaped.rows,
          hyperparameters,
        });

  const commitStartedAt = state.enter('commit');
  const proposed: LogEntry = {
    run,
    version: parent.version + 1,
    parent: parent.weights.hash,
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
      ...throughput(shards, seconds),
      ...(ahead && { 'time/wait_seconds': (learningSince - at) / 1000 }),
      'time/update_seconds': (commitStartedAt - updateStartedAt) / 1000,
      'time/iteration_seconds': (commitStartedAt - since) / 1000,
    },
    phaseFinished: false,
  };
  // A commit that has begun is waited for: whoever gives the iteration up is then told the log as it is.
  const entry = await CancellationScope.nonCancellable(() =>
    cpu(heartbeatSeconds).commitVersion({ entry: proposed }),
  );

  // A rollout that is under way takes the weights that it needs by itself, and those of others must stay.
  state.enter(ahead ? 'publish' : 'sync');
  await Promise.all([
    ahead || rollout(heartbeatSeconds).syncWeights({ run, version: entry.version, weights: entry.weights }),
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

interface PhaseTracker {
  /** The time when the phase begins, in milliseconds since the epoch. */
  enter(name: PhaseState['phase'], total?: number): number;
  advance(): void;
}

/** Keeps the query `phase` and the details in the Web UI up to date. */
function trackPhase(input: TrainIterationInput): PhaseTracker {
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
