/**
 * A training run: open → warm start → (evaluate, iterate)* → close.
 *
 * The commit log in the store is the truth about how far a run is; this workflow only carries steering (pause, changed
 * hyperparameters, a rollback that was asked for) from one history to the next. Started again under its id, after it was stopped or
 * failed or Temporal's database was lost, it goes on from the head of the log.
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
import type { OpenRunResult, RunState, TrainRunInput } from '../core/contracts.ts';
import { stopReason } from '../core/early-stop.ts';
import { workflowIds } from '../core/ids.ts';
import { withEntry, withEvaluation, type LogSummary } from '../core/log-summary.ts';
import { hyperparametersAfter, refusalStops } from '../core/non-finite.ts';
import { evaluationIsDue, iterationsDone, needsWarmStart, policyOf } from '../core/policy.ts';
import { rollbackProblem } from '../core/rollback.ts';
import type { Evaluation, LogEntry } from '../core/records.ts';
import { behaviourOf, neededPolicies, pastPolicyOf, schedulingOf } from '../core/scheduling.ts';
import { cpu } from './activities.ts';
import { evaluationRun } from './evaluation-run.ts';
import { IterationsUnderWay } from './iterations-under-way.ts';
import { describeRun, followEntry, followEvaluation, initialState, reasonOf, runIdOf } from './run-state.ts';
import {
  checkHyperparameters,
  pause,
  refuse,
  resume,
  rollback,
  setHyperparameters,
  status,
  stop,
  type StopRequest,
} from './steering.ts';
import { warmStart } from './warm-start.ts';
import { watched } from './watchdog.ts';

/** What one history hands to the next. */
export interface Carried {
  startedAt: string;
  paused: boolean;
  state: RunState;
  summary: LogSummary;
  /** What the log had taken when the run was started. */
  secondsBefore: number;
}

type RunEnd = 'completed' | 'stopped' | 'failed';

export async function trainRun(input: TrainRunInput, carried?: Carried): Promise<RunState> {
  const run = runIdOf(workflowInfo().workflowId);
  const startedAt = carried?.startedAt ?? new Date().toISOString();
  const state = carried?.state ?? initialState(run);
  let paused = carried?.paused ?? false;
  let stopping: StopRequest | undefined;
  let isOpen = false;
  let over = false;
  /** What a stop `now` gives up. */
  const work = new CancellationScope();
  setHandler(status, view);
  setHandler(pause, () => setPaused(true));
  setHandler(resume, () => setPaused(false));
  setHandler(stop, (request) => requestStop(request ?? {}));
  setHandler(setHyperparameters, (changes) =>
    steer(
      () => checkHyperparameters(changes, recipe),
      () => Object.assign(state.hyperparameters, changes),
    ),
  );
  setHandler(rollback, (to) =>
    steer(
      () => refuse(rollbackProblem(to?.version, head, summary.reference!.version)),
      () => (state.rollbackTo = to.version),
    ),
  );

  let opened: OpenRunResult;
  try {
    const known = carried?.summary ?? null;
    opened = await work.run(() => cpu(10).openRun({ run, input, startedAt, known }));
  } catch (error) {
    if (isCancellation(error) && stopping !== undefined) return end('stopped', stopping.reason);
    end(isCancellation(error) ? 'stopped' : 'failed', reasonOf(error));
    throw error;
  }
  const { recipe, evaluationBatch } = opened;
  let { head, past, summary } = opened;
  const secondsBefore = carried?.secondsBefore ?? summary.seconds;
  let inThisHistory = 0;
  let historyIsLong = false;
  const { lookahead } = schedulingOf(recipe);
  const underWay = new IterationsUnderWay();
  Object.assign(state, { recipe: recipe.name, iterations: recipe.training.iterations });
  if (carried === undefined) {
    const inForce = { ...head.hyperparameters, ...state.hyperparameters };
    state.hyperparameters = hyperparametersAfter(head, recipe, inForce);
  }
  for (const evaluation of opened.evaluations) followEvaluation(state, evaluation);
  followEntry(state, head);
  state.refusedUpdates = summary.refusedUpdates;
  stopByRule();
  isOpen = true;

  try {
    await work.run(train);
    return await close(stopping === undefined ? 'completed' : 'stopped', stopping?.reason);
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    return await CancellationScope.nonCancellable(() => closeBroken(error));
  }

  async function train(): Promise<void> {
    while (needsWarmStart(recipe, head) && (await mayGoOn('warm-start'))) {
      follow(await child(warmStart, workflowIds.warmStart(run, head.iteration + 1), { run, recipe, head }));
    }
    await evaluate();
    while (iterationsDone(head) < recipe.training.iterations && (await mayGoOn('training'))) {
      startIterations();
      follow(await learn(iterationsDone(head) + 1));
      await evaluate();
    }
    await rollBack();
    await underWay.giveUp();
    await evaluate();
  }

  /** Changes what the run goes by, unless it is refused. Until the run is opened there is nothing to check a change against. */
  async function steer(check: () => void, change: () => void): Promise<RunState> {
    await condition(() => isOpen || over);
    refuse(over ? 'the run is over' : undefined);
    check();
    change();
    describeRun(view());
    return view();
  }

  /** A run that ends at once gives up what is in flight; what that has recorded is found again when the run goes on. */
  function requestStop(request: StopRequest): RunState {
    if (over) return view();
    stopping = request;
    if (request.now) work.cancel();
    enter('stopping');
    return view();
  }

  function view(): RunState {
    return { ...state, status: paused && stopping === undefined && !over ? 'paused' : state.status };
  }

  function setPaused(to: boolean): RunState {
    paused = to;
    if (!over) describeRun(view());
    return view();
  }

  /** Waits while paused, and goes back where that is asked; false when the run is to stop. A long run goes on in a new history here. */
  async function mayGoOn(phase: RunState['status']): Promise<boolean> {
    enter(phase);
    await condition(allHandlersFinished);
    await rollBack();
    historyIsLong ||= inThisHistory++ === recipe.schedule.iterationsPerHistory;
    historyIsLong ||= workflowInfo().continueAsNewSuggested;
    if (stopping === undefined && historyIsLong && underWay.count === 0) {
      await continueAsNew<typeof trainRun>(input, {
        ...{ startedAt, paused, state, summary, secondsBefore },
      });
    }
    while (paused && stopping === undefined) {
      await condition(() => !paused || stopping !== undefined || state.rollbackTo !== null);
      await rollBack();
    }
    return stopping === undefined;
  }

  /** Until the log holds the rollback that was asked for last. What collects ahead is of a policy that is left. */
  async function rollBack(): Promise<void> {
    while (state.rollbackTo !== null) {
      const restores = state.rollbackTo;
      const { hyperparameters } = state;
      await underWay.giveUp();
      const entry = await cpu(recipe.schedule.heartbeatSeconds).rollBack({
        run,
        version: head.version + 1,
        restores,
        hyperparameters,
      });
      if (entry.restores === restores && state.rollbackTo === restores) state.rollbackTo = null;
      follow(entry);
    }
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
        reference: summary.reference!.weights,
        hyperparameters: state.hyperparameters,
      });
    }
  }

  function learn(iteration: number): Promise<LogEntry> {
    return asCurrent(workflowIds.iteration(run, iteration), () =>
      underWay.learn(iteration, policyOf(head, 'reinforcement')),
    );
  }

  function stopByRule(): void {
    const seconds = secondsBefore + (Date.now() - Date.parse(startedAt)) / 1000;
    const { generatedTokens, rules } = summary;
    const reason = stopReason(recipe.stopping, rules, { seconds, generatedTokens });
    if (reason !== undefined) stopping ??= { reason };
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
    summary = withEvaluation(summary, evaluation, recipe);
    stopByRule();
  }

  async function close(ended: RunEnd, reason?: string): Promise<RunState> {
    over = true;
    const finishedAt = new Date().toISOString();
    const closed = await cpu(recipe.schedule.heartbeatSeconds).closeRun({
      ...{ run, status: ended, reason, startedAt, finishedAt },
    });
    if (closed.head.version > head.version) follow(closed.head); // committed by what was given up
    end(ended, reason);
    await condition(allHandlersFinished);
    return state;
  }

  function end(ended: RunEnd, reason?: string): RunState {
    over = true;
    Object.assign(state, { status: ended, reason: reason ?? null });
    describeRun(state);
    return state;
  }

  /** What cannot be written then must not hide why the run ended. Throws the error, unless that is a stop that was asked for. */
  async function closeBroken(error: unknown): Promise<RunState> {
    const asked = isCancellation(error) && stopping?.now === true;
    const ended = isCancellation(error) ? 'stopped' : 'failed';
    const reason = asked
      ? stopping?.reason
      : ended === 'stopped'
        ? 'the workflow was cancelled'
        : reasonOf(error);
    try {
      await underWay.giveUp();
      await rollBack();
      await close(ended, reason);
    } catch (closing) {
      log.error('the run folder was not brought up to date', { closing });
      end(ended, reason);
    }
    if (asked) return state;
    throw error;
  }

  function follow(entry: LogEntry): void {
    head = entry;
    past = neededPolicies([...past, pastPolicyOf(entry)], lookahead);
    summary = withEntry(summary, entry, recipe);
    state.hyperparameters = hyperparametersAfter(entry, recipe, state.hyperparameters);
    followEntry(state, entry);
    state.refusedUpdates = summary.refusedUpdates;
    const refusal = refusalStops(entry, recipe);
    if (refusal !== undefined) stopping ??= { reason: refusal };
    stopByRule();
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
