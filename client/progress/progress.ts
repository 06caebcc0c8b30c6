/**
 * What a watcher has seen of a run so far: the newest state and phase, and the rewards along the way. Pure: folding the same
 * events gives the same progress.
 */
import type { RunState } from '../../core/contracts.ts';
import type { PhaseState } from '../../workflows/steering.ts';
import type { RunEvent } from '../watch.ts';

export interface Progress {
  state: RunState | null;
  phase: PhaseState | null;
  /** Mean reward of each iteration seen, in order. */
  rewards: { iteration: number; reward: number }[];
  /** Why nothing new comes; null when something does. */
  waiting: string | null;
}

export const noProgress: Progress = { state: null, phase: null, rewards: [], waiting: null };

export function advance(progress: Progress, event: RunEvent): Progress {
  if (event.kind === 'waiting') return { ...progress, waiting: event.reason };
  const { state } = event;
  // A run that continues as new begins with an empty state until it has read its log.
  if (state.status === 'opening' && progress.state !== null) return { ...progress, waiting: null };
  const phase = event.kind === 'progress' ? event.phase : null;
  return { state, phase, rewards: withReward(progress.rewards, state), waiting: null };
}

function withReward(rewards: Progress['rewards'], { iteration, rewardMean }: RunState): Progress['rewards'] {
  if (rewardMean === null || iteration === 0 || rewards.at(-1)?.iteration === iteration) return rewards;
  return [...rewards, { iteration, reward: rewardMean }];
}

/** Seconds until the last iteration at the present pace; null before there is a pace. */
export function secondsLeft({ iteration, iterations, secondsPerIteration }: RunState): number | null {
  return secondsPerIteration === null ? null : (iterations - iteration) * secondsPerIteration;
}
