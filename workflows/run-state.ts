/** What a run knows of itself, and how it shows that: the query `status`, and in the Web UI search attributes and details. */
import {
  ApplicationFailure,
  setCurrentDetails,
  TemporalFailure,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { RunState } from '../core/contracts.ts';
import { runIdPattern, workflowIds } from '../core/ids.ts';
import { iterationsDone } from '../core/policy.ts';
import { stuckLine } from '../core/stuck.ts';
import type { Evaluation, LogEntry } from '../core/records.ts';

const keys = {
  run: defineSearchAttributeKey('RekindleRun', 'KEYWORD'),
  recipe: defineSearchAttributeKey('RekindleRecipe', 'KEYWORD'),
  phase: defineSearchAttributeKey('RekindlePhase', 'KEYWORD'),
  iteration: defineSearchAttributeKey('RekindleIteration', 'INT'),
  policyVersion: defineSearchAttributeKey('RekindlePolicyVersion', 'INT'),
  rewardMean: defineSearchAttributeKey('RekindleRewardMean', 'DOUBLE'),
};

export function initialState(run: string): RunState {
  return {
    run,
    recipe: '',
    status: 'opening',
    iteration: 0,
    iterations: 0,
    policyVersion: 0,
    weights: null,
    rewardMean: null,
    warmStartLoss: null,
    evaluation: { before: null, latest: null, latestVersion: null },
    generatedTokensPerSecond: null,
    trainedTokensPerSecond: null,
    secondsPerIteration: null,
    hyperparameters: {},
    rollbackTo: null,
    refusedUpdates: 0,
    reason: null,
    currentChild: null,
    stuck: null,
  };
}

/** The run that a workflow id names. */
export function runIdOf(workflowId: string): string {
  const run = workflowId.slice('train-'.length);
  if (workflowId === workflowIds.train(run) && runIdPattern.test(run)) return run;
  throw ApplicationFailure.nonRetryable(
    `workflow id ${JSON.stringify(workflowId)} does not name a run: expected train-<run>, with lower-case letters, digits and hyphens`,
    'RecipeError',
  );
}

/** What an activity or workflow said when it failed; below that are only causes of the machine's (`ENOSPC: …`). */
export function reasonOf(error: unknown): string {
  let failure = error;
  while (failure instanceof TemporalFailure && !(failure instanceof ApplicationFailure) && failure.cause)
    failure = failure.cause;
  return failure instanceof Error ? failure.message : String(failure);
}

export function followEntry(state: RunState, entry: LogEntry): void {
  const { metrics } = entry;
  state.policyVersion = entry.version;
  state.weights = entry.weights.hash;
  state.iteration = iterationsDone(entry);
  state.warmStartLoss = metrics['warm_start/loss'] ?? state.warmStartLoss;
  state.rewardMean = metrics['reward/mean'] ?? state.rewardMean;
  state.generatedTokensPerSecond = metrics['tokens/generated_per_second'] ?? state.generatedTokensPerSecond;
  state.trainedTokensPerSecond = metrics['tokens/trained_per_second'] ?? state.trainedTokensPerSecond;
  state.secondsPerIteration = metrics['time/iteration_seconds'] ?? state.secondsPerIteration;
}

export function followEvaluation(state: RunState, { version, accuracy }: Evaluation): void {
  state.evaluation.before ??= accuracy;
  state.evaluation.latest = accuracy;
  state.evaluation.latestVersion = version;
}

/** Shows the state; costs one history event. */
export function describeRun(state: RunState): void {
  upsertSearchAttributes([
    { key: keys.run, value: state.run },
    { key: keys.recipe, value: state.recipe },
    { key: keys.phase, value: state.status },
    { key: keys.iteration, value: state.iteration },
    { key: keys.policyVersion, value: state.policyVersion },
    { key: keys.rewardMean, value: state.rewardMean },
  ]);
  const number = (value: number | null) => value?.toFixed(3) ?? '—';
  setCurrentDetails(
    [
      `Run **${state.run}** (recipe ${state.recipe}): **${state.status}**`,
      '',
      '| | |',
      '|---|---|',
      `| iteration | ${state.iteration} of ${state.iterations} |`,
      `| policy version | ${state.policyVersion} |`,
      `| reward, mean | ${number(state.rewardMean)} |`,
      `| held-out accuracy | ${number(state.evaluation.before)} → ${number(state.evaluation.latest)} |`,
      ...(state.refusedUpdates > 0 ? [`| refused updates | ${state.refusedUpdates} |`] : []),
      ...(state.rollbackTo === null ? [] : [`| goes back to | version ${state.rollbackTo} |`]),
      ...(state.reason === null ? [] : ['', state.reason]),
      ...(state.stuck === null ? [] : ['', `**Stuck**: ${stuckLine(state.stuck)}`]),
    ].join('\n'),
  );
}
