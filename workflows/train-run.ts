/**
 * A training run: open → warm start → (evaluate, iterate)* → close.
 *
 * The commit log in the store is the truth about how far a run is; this workflow only carries steering (pause, changed
 * hyperparameters) from one history to the next. Started again under its id after the loss of Temporal's database, it goes on
 * from the head of the log.
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  ContinueAsNew,
  executeChild,
  isCancellation,
  log,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunState, TrainRunInput } from '../core/contracts.ts';
import { workflowIds } from '../core/ids.ts';
import { evaluationIsDue, iterationsDone, needsWarmStart, policyOf } from '../core/policy.ts';
import type { Hyperparameters } from '../core/recipe.ts';
import type { Evaluation, LogEntry } from '../core/records.ts';
import { behaviourOf, neededPolicies, pastPolicyOf, schedulingOf } from '../core/scheduling.ts';
import { cpu } from './activities.ts';
import { evaluationRun } from './evaluation-run.ts';
import { IterationsUnderWay } from './iterations-under-way.ts';
import { describeRun, followEntry, followEvaluation, initialState, reasonOf, runIdOf } from './run-state.ts';
import { checkHyperparameters, pause, resume, setHyperparameters, status, stop } from './steering.ts';
import { warmStart } from './warm-start.ts';
import { watched } from './watchdog.ts';

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
  let over = false;
  setHandler(status, view);
  setHandler(pause, () => setPaused(true));
  setHandler(resume, () => setPaused(false));
  setHandler(stop, (why) => ((stopping = why ?? {}), enter('stopping'), view()));

  const opened = await cpu(10).openRun({ run, input: { set: [], ...input }, startedAt });
  const { recipe, evaluationBatch } = opened;
  let reference = opened.reference;
  let head = opened.head;
  let { past } = opened;
  let inThisHistory = 0;
  let historyIsLong = false;
  const { lookahead } = schedulingOf(recipe);
  const underWay = new IterationsUnderWay();
  Object.assign(state, { recipe: recipe.name, iterations: recipe.training.iterations });
  if (carried === undefined) state.hyperparameters = { ...head.hyperparameters, ...state.hyperparameters };
  for (const evaluation of opened.evaluations) followEvaluation(state, evaluation);
  followEntry(state, head);
  setHandler(
    setHyperparameters,
    (changes: Hyperparameters) => (Object.assign(state.hyperparameters, changes), view()),
    { validator: (changes: Hyperparameters) => checkHyperparameters(changes, recipe) },
  );

  try {
    while (needsWarmStart(recipe, head) && (await mayGoOn('warm-start'))) {
      follow(await child(warmStart, workflowIds.warmStart(run, head.iteration + 1), { run, recipe, head }));
      stopIfRefused();
    }
    await evaluate();
    while (iterationsDone(head) < recipe.training.iterations && (await mayGoOn('training'))) {
      startIterations();
      follow(await learn(iterationsDone(head) + 1));
      stopIfRefused();
      await evaluate();
    }
    await underWay.giveUp();
    await evaluate();
    return await close(stopping === undefined ? 'completed' : 'stopped', stopping?.reason);
  } catch (error) {
    if (!(error instanceof ContinueAsNew)) await CancellationScope.nonCancellable(() => closeBroken(error));
    throw error;
  }

  function view(): RunState {
    return { ...state, status: paused && stopping === undefined && !over ? 'paused' : state.status };
  }

  function setPaused(to: boolean): RunState {
    paused = to;
    if (!over) describeRun(view());
    return view();
  }

  /** Waits while paused; false when the run is to stop. A long run goes on in a new history here. */
  async function mayGoOn(phase: RunState['status']): Promise<boolean> {
    enter(phase);
    await condition(allHandlersFinished);
    historyIsLong ||= inThisHistory++ === recipe.schedule.iterationsPerHistory;
    historyIsLong ||= workflowInfo().continueAsNewSuggested;
    if (stopping === undefined && historyIsLong && underWay.count === 0) {
      await continueAsNew<typeof trainRun>(input, { startedAt, paused, state });
    }
    await condition(() => !paused || stopping !== undefined);
    return stopping === undefined;
  }

  /** Starts the next iteration and those that may collect ahead of it; in a long history no more, so that it can end. */
  function startIterations(): void {
    const next = iterationsDone(head) + 1;
    const last = historyIsLong ? next : Math.min(next + lookahead, recipe.training.iterations);
    for (let iteration = next; iteration <= last; iteration++) {
      if (underWay.has(iteration)) continue;
      underWay.start({
        run,
        iteration,
        recipe,
        policy: behaviourOf(iteration, past, lookahead),
        parent: iteration === next ? policyOf(head, 'reinforcement') : null,
        reference,
        hyperparameters: state.hyperparameters,
      });
    }
  }

  function learn(iteration: number): Promise<LogEntry> {
    return asCurrent(workflowIds.iteration(run, iteration), () =>
      underWay.learn(iteration, policyOf(head, 'reinforcement')),
    );
  }

  function stopIfRefused(): void {
    if (head.update !== 'refused' || recipe.training.onNonFinite !== 'stop') return;
    stopping = { reason: 'a loss or gradient was not finite' };
  }

  async function evaluate(): Promise<void> {
    const done = iterationsDone(head);
    const last = done === recipe.training.iterations || stopping !== undefined;
    if (evaluationBatch === null || state.evaluation.latestVersion === head.version) return;
    if (!evaluationIsDue(recipe, done, last)) return;
    enter('evaluating');
    const { version, weights } = head;
    const evaluation: Evaluation = await child(evaluationRun, workflowIds.evaluation(run, version), {
      run,
      recipe,
      batch: evaluationBatch,
      version,
      weights,
    });
    followEvaluation(state, evaluation);
  }

  async function close(ended: 'completed' | 'stopped' | 'failed', reason?: string): Promise<RunState> {
    const finishedAt = new Date().toISOString();
    await cpu(recipe.schedule.heartbeatSeconds).closeRun({
      run,
      status: ended,
      reason,
      startedAt,
      finishedAt,
    });
    over = true;
    state.status = ended;
    describeRun(state);
    await condition(allHandlersFinished);
    return state;
  }

  /** What cannot be written then must not hide why the run ended. */
  async function closeBroken(error: unknown): Promise<void> {
    const [ended, reason] = isCancellation(error)
      ? (['stopped', 'the workflow was cancelled'] as const)
      : (['failed', reasonOf(error)] as const);
    await close(ended, reason).catch((closing: unknown) =>
      log.error('the run folder was not brought up to date', { closing }),
    );
  }

  function follow(entry: LogEntry): void {
    head = entry;
    past = neededPolicies([...past, pastPolicyOf(entry)], lookahead);
    if (entry.kind !== 'reinforcement') reference = entry.weights;
    followEntry(state, entry);
  }

  function enter(phase: RunState['status']): void {
    state.status = stopping === undefined ? phase : 'stopping';
    describeRun(view());
  }

  function child<I, O>(workflow: (input: I) => Promise<O>, workflowId: string, childInput: I): Promise<O> {
    const staticSummary = workflowId.slice(workflowIds.train(run).length + 1);
    return asCurrent(workflowId, () =>
      executeChild(workflow, { workflowId, args: [childInput], staticSummary }),
    );
  }

  async function asCurrent<T>(workflowId: string, work: () => Promise<T>): Promise<T> {
    state.currentChild = workflowId;
    try {
      return await watched(run, work, (stuck) => ((state.stuck = stuck), describeRun(view())));
    } finally {
      state.currentChild = null;
      state.stuck = null;
    }
  }
}
