/**
 * What a watcher has seen of a run so far: the newest state and phase, and the iterations along the way. Pure: folding the
 * same events gives the same progress.
 */
import type { RunState } from '../../core/contracts.ts';
import type { PhaseState } from '../../workflows/steering.ts';
import type { RunEvent } from '../watch.ts';

export interface SeenIteration {
  iteration: number;
  /** Mean reward; null when the iteration had none. */
  reward: number | null;
  seconds: number | null;
}

export interface Progress {
  state: RunState | null;
  phase: PhaseState | null;
  /** In order; an iteration that passed between two looks is missing. */
  iterations: SeenIteration[];
  /** Why nothing new comes; null when something does. */
  waiting: string | null;
}

export const noProgress: Progress = { state: null, phase: null, iterations: [], waiting: null };

/** Iterations whose pace tells the time left: enough that one slow one does not. */
const paceWindow = 9;

export function advance(progress: Progress, event: RunEvent): Progress {
  if (event.kind === 'waiting') return { ...progress, waiting: event.reason };
  const { state } = event;
  // A run that continues as new begins with an empty state until it has read its log.
  if (state.status === 'opening' && progress.state !== null) return { ...progress, waiting: null };
  const phase = event.kind === 'progress' ? event.phase : null;
  return { state, phase, iterations: withIteration(progress.iterations, state), waiting: null };
}

function withIteration(seen: SeenIteration[], state: RunState): SeenIteration[] {
  const { iteration, rewardMean: reward, secondsPerIteration: seconds } = state;
  if (iteration === 0 || seen.at(-1)?.iteration === iteration) return seen;
  return [...seen, { iteration, reward, seconds }];
}

/** Seconds until the last iteration, by the median of the last ones seen; null before there is a pace. */
export function secondsLeft({ state, iterations }: Progress): number | null {
  const paces = iterations.slice(-paceWindow).flatMap(({ seconds }) => seconds ?? []);
  if (state === null || paces.length === 0) return null;
  const median = paces.sort((a, b) => a - b)[Math.floor(paces.length / 2)]!;
  return (state.iterations - state.iteration) * median;
}
