/** The messages that a run understands. */
import { ApplicationFailure, defineQuery, defineUpdate } from '@temporalio/workflow';
import type { RunState } from '../core/contracts.ts';
import type { Hyperparameters, Recipe } from '../core/recipe.ts';
import { steerable, steeringProblem } from '../core/steerable.ts';

export const status = defineQuery<RunState>('status');
export const pause = defineUpdate<RunState>('pause');
export const resume = defineUpdate<RunState>('resume');
/** With `now` a run gives up the iteration in flight, instead of ending after it. */
export interface StopRequest {
  reason?: string;
  now?: boolean;
}
export const stop = defineUpdate<RunState, [StopRequest?]>('stop');
/** Goes back to the policy of an earlier version before the next iteration. */
export const rollback = defineUpdate<RunState, [{ version: number }]>('rollback');
export const setHyperparameters = defineUpdate<RunState, [Hyperparameters]>('setHyperparameters');

export const phases = [
  'prepare',
  'rollout',
  'wait',
  'reward',
  'update',
  'commit',
  'sync',
  'publish',
] as const;
export interface PhaseState {
  phase: (typeof phases)[number];
  since: string;
  done: number;
  total: number;
}
export const phase = defineQuery<PhaseState>('phase');

/** Refuses an update, when there is a problem. */
export function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw ApplicationFailure.nonRetryable(problem, 'UsageError');
}

/** Throws, and so refuses the update, unless every change is in range for something that can be changed and matters. */
export function checkHyperparameters(changes: Hyperparameters, recipe: Recipe): void {
  const entries = Object.entries(changes ?? {});
  if (entries.length === 0) refuse(`expected at least one of ${Object.keys(steerable).join(', ')}`);
  for (const [name, value] of entries) {
    const problem = steeringProblem(name, value);
    if (problem !== undefined) refuse(`${name}: ${problem}`);
  }
  const { kl, loss } = recipe.algorithm;
  if (changes.klCoefficient !== undefined && kl === undefined)
    refuse('klCoefficient would have no effect: the recipe has no algorithm.kl');
  for (const name of ['clipLow', 'clipHigh'] as const) {
    if (changes[name] !== undefined && !(name in loss))
      refuse(`${name} would have no effect: the loss ${loss.kind} has none`);
  }
}
