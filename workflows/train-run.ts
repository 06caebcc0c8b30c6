/**
 * A training run: open → warm start → (evaluate, iterate)* → close.
 *
 * The commit log in the store is the truth about how far a run is; this workflow only carries steering (pause, changed
 * hyperparameters) from one history to the next. Started again under its id after the loss of Temporal's database, it goes on
 * from the head of the log.
 */
import {
  allHandlersFinished,
  ApplicationFailure,
  condition,
  continueAsNew,
  executeChild,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunState, TrainRunInput } from '../core/contracts.ts';
import { runIdPattern, workflowIds } from '../core/ids.ts';
import { evaluationIsDue, iterationsDone, needsWarmStart, policyOf } from '../core/policy.ts';
import type { Hyperparameters } from '../core/recipe.ts';
import type { Evaluation, LogEntry } from '../core/records.ts';
import { cpu } from './activities.ts';
import { evaluationRun } from './evaluation-run.ts';
import { describeRun, initialState } from './run-state.ts';
import { pause, resume, setHyperparameters, status, stop } from './steering.ts';
import { trainIteration } from './train-iteration.ts';
import { warmStart } from './warm-start.ts';

/** What one history hands to the next. */
export interface Carried {
  startedAt: string;
  paused: boolean;
  state: RunState;
}

export async function trainRun(input: TrainRunInput, carried?: Carried): Promise<RunState> {
  const run = runIdOf(workflowInfo().workflowId);
  const startedAt = carried?.startedAt ?? new Date().toISOString();
  const state = carried?.state ?? initialState(run);
  let paused = carried?.paused ?? false;
  let stopping: { reason?: string } | undefined;

  setHandler(status, () => ({
    ...state,
    status: paused && state.status === 'training' ? 'paused' : state.status,
  }));
  setHandler(pause, () => ((paused = true), state));
  setHandler(resume, () => ((paused = false), state));
  setHandler(stop, (why) => {
    stopping = why ?? {};
    state.status = 'stopping';
    return state;
  });
  setHandler(
    setHyperparameters,
    (changes) => {
      state.hyperparameters = { ...state.hyperparameters, ...changes };
      return state;
    },
    { validator: checkHyperparameters },
  );

  const {
    recipe,
    head: opened,
    initial,
    evaluations,
  } = await cpu(10).openRun({
    run,
    input: { set: [], ...input },
    startedAt,
  });
  let head: LogEntry = opened;
  Object.assign(state, { recipe: recipe.name, iterations: recipe.training.iterations });
  if (carried === undefined) state.hyperparameters = { ...head.hyperparameters, ...state.hyperparameters };
  for (const evaluation of evaluations) noteEvaluation(evaluation);
  follow(head);

  if (needsWarmStart(recipe, head)) {
    enter('warm-start');
    follow(await child(warmStart, workflowIds.warmStart(run), { run, recipe, head }));
  }
  if (iterationsDone(head) === 0) await evaluate();

  for (let inThisHistory = 0; iterationsDone(head) < recipe.training.iterations; inThisHistory++) {
    enter('training');
    if (inThisHistory === recipe.schedule.iterationsPerHistory || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      await continueAsNew<typeof trainRun>(input, { startedAt, paused, state });
    }
    await condition(() => !paused || stopping !== undefined);
    if (stopping !== undefined) break;
    const iteration = iterationsDone(head) + 1;
    follow(
      await child(trainIteration, workflowIds.iteration(run, iteration), {
        run,
        iteration,
        recipe,
        policy: policyOf(head, 'reinforcement'),
        initial,
        hyperparameters: state.hyperparameters,
      }),
    );
    if (head.update === 'refused' && recipe.training.onNonFinite === 'stop')
      stopping = { reason: 'non-finite gradient' };
    await evaluate();
  }

  state.status = stopping === undefined ? 'completed' : 'stopped';
  await cpu(recipe.schedule.heartbeatSeconds).closeRun({
    run,
    status: state.status,
    reason: stopping?.reason,
    startedAt,
    finishedAt: new Date().toISOString(),
  });
  describeRun(state);
  await condition(allHandlersFinished);
  return state;

  function enter(phase: RunState['status']): void {
    if (state.status !== 'stopping') state.status = phase;
    describeRun(state);
  }

  function follow(entry: LogEntry): void {
    head = entry;
    state.policyVersion = entry.version;
    state.weights = entry.weights.hash;
    state.iteration = iterationsDone(entry);
    state.warmStartLoss = entry.metrics['warm_start/loss'] ?? state.warmStartLoss;
    state.rewardMean = entry.metrics['reward/mean'] ?? state.rewardMean;
    state.generatedTokensPerSecond =
      entry.metrics['tokens/generated_per_second'] ?? state.generatedTokensPerSecond;
    state.trainedTokensPerSecond = entry.metrics['tokens/trained_per_second'] ?? state.trainedTokensPerSecond;
    state.secondsPerIteration = entry.metrics['time/iteration_seconds'] ?? state.secondsPerIteration;
    state.currentChild = null;
  }

  async function evaluate(): Promise<void> {
    const done = iterationsDone(head);
    const last = done === recipe.training.iterations || stopping !== undefined;
    if (!evaluationIsDue(recipe, done, last) || state.evaluation.latestVersion === head.version) return;
    enter('evaluating');
    noteEvaluation(
      await child(evaluationRun, workflowIds.evaluation(run, head.version), {
        run,
        recipe,
        version: head.version,
        weights: head.weights,
      }),
    );
  }

  function noteEvaluation({ version, accuracy }: Evaluation): void {
    state.evaluation.before ??= accuracy;
    state.evaluation.latest = accuracy;
    state.evaluation.latestVersion = version;
    state.currentChild = null;
  }

  function child<I, O>(workflow: (input: I) => Promise<O>, workflowId: string, childInput: I): Promise<O> {
    state.currentChild = workflowId;
    return executeChild(workflow, {
      workflowId,
      args: [childInput],
      staticSummary: workflowId.slice(`train-${run}-`.length),
    });
  }
}

function runIdOf(workflowId: string): string {
  const run = workflowId.replace(/^train-/, '');
  if (runIdPattern.test(run)) return run;
  throw ApplicationFailure.nonRetryable(
    `workflow id ${JSON.stringify(workflowId)} does not name a run: expected train-<run>, with lower-case letters, digits and hyphens`,
    'RecipeError',
  );
}

const steerable = ['learningRate', 'temperature', 'klCoefficient'];

function checkHyperparameters(changes: Hyperparameters): void {
  const entries = Object.entries(changes ?? {});
  if (entries.length === 0) throw new Error(`expected at least one of ${steerable.join(', ')}`);
  for (const [name, value] of entries) {
    if (!steerable.includes(name))
      throw new Error(`${name} cannot be changed during a run: expected one of ${steerable.join(', ')}`);
    if (typeof value !== 'number' || !(value > 0))
      throw new Error(`${name}: ${JSON.stringify(value)}: expected a positive number`);
  }
}
