/** How a run shows itself in the Web UI: search attributes to list and filter by, details to read. */
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { RunState } from '../core/contracts.ts';

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
    currentChild: null,
  };
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
    ].join('\n'),
  );
}
