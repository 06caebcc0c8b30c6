/** The messages that a run understands. */
import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { RunState } from '../core/contracts.ts';
import type { Hyperparameters } from '../core/recipe.ts';

export const status = defineQuery<RunState>('status');
export const pause = defineUpdate<RunState>('pause');
export const resume = defineUpdate<RunState>('resume');
export const stop = defineUpdate<RunState, [{ reason?: string }?]>('stop');
export const setHyperparameters = defineUpdate<RunState, [Hyperparameters]>('setHyperparameters');

export const phases = ['prepare', 'rollout', 'reward', 'update', 'commit', 'sync', 'publish'] as const;
export interface PhaseState {
  phase: (typeof phases)[number];
  since: string;
  done: number;
  total: number;
}
export const phase = defineQuery<PhaseState>('phase');
