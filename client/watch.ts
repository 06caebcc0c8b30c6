/**
 * Follows a run by asking for its state about once a second. It never gives up while the run is open: a server or worker that
 * is away shows as `waiting`, and the watch goes on when it is back.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { RunState } from '../core/contracts.ts';
import type { Stuck } from '../core/stuck.ts';
import type { PhaseState } from '../workflows/steering.ts';
import { isTransient } from './temporal-errors.ts';

export type RunEvent =
  | { kind: 'progress'; state: RunState; phase: PhaseState | null }
  | { kind: 'waiting'; reason: string }
  | { kind: 'finished'; state: RunState };

/** What a watch asks of a run; each call throws when it can't be answered now. */
export interface WatchedRun {
  isOpen(): Promise<boolean>;
  status(): Promise<RunState>;
  examine(): Promise<Stuck[]>;
  phase(workflowId: string): Promise<PhaseState | null>;
  result(): Promise<RunState>;
}

export interface WatchOptions {
  /** Milliseconds between two questions; 1000 by default. */
  interval?: number;
  /** Ends the watch without touching the run. */
  signal?: AbortSignal;
}

/** Looks without change after which it is asked what is stuck, and again as often. */
const looksUntilExamined = 10;

/** Yields progress until the run ends, then one `finished`. Throws the run's failure when it failed. */
export async function* watchRun(run: WatchedRun, options: WatchOptions = {}): AsyncGenerator<RunEvent, void> {
  const { interval = 1000, signal } = options;
  let seen = '';
  let unchanged = 0;
  let stuck: Stuck | null = null;
  while (!signal?.aborted) {
    try {
      if (!(await run.isOpen())) {
        yield { kind: 'finished', state: await run.result() };
        return;
      }
      const state = await run.status();
      const phase = state.currentChild === null ? null : await run.phase(state.currentChild);
      const now = JSON.stringify([state, phase]);
      unchanged = now === seen ? unchanged + 1 : 0;
      seen = now;
      if (unchanged === 0) stuck = null;
      else if (unchanged % looksUntilExamined === 0) stuck = (await run.examine())[0] ?? null;
      yield { kind: 'progress', state: { ...state, stuck: stuck ?? state.stuck }, phase };
    } catch (error) {
      if (!isTransient(error)) throw error;
      yield { kind: 'waiting', reason: error instanceof Error ? error.message : String(error) };
    }
    await delay(interval, undefined, { signal }).catch(() => undefined);
  }
}
