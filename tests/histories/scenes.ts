/** Runs of the tiny recipe that together take every workflow through every path that schedules something. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RunHandle } from '../../client/run-handle.ts';
import type { RunState } from '../../core/contracts.ts';
import type { TestStack } from '../harness/stack.ts';

export interface Scene {
  set: string[];
  /** What is done to the run while it goes on. */
  play?: (run: RunHandle, stack: TestStack) => Promise<void>;
}

export const scenes: Record<string, Scene> = {
  /** Warm start, evaluations, and a run that goes on in a new history. */
  shards: { set: ['training.iterations=3', 'schedule.iterationsPerHistory=2'] },
  /** Each trajectory a workflow. */
  turns: { set: ['training.iterations=1', 'rollout.durability=turn'] },
  /** Iterations that collect ahead of their turn. */
  ahead: { set: ['training.iterations=3', 'schedule.mode=one-step-off'] },
  /** With shards that take several activities. */
  async: {
    set: [
      ...['training.iterations=4', 'schedule.mode=async', 'schedule.maxStaleness=2'],
      'schedule.stragglerSeconds=0.02',
    ],
  },
  /** Turns whose workers on the host have died, so that they go elsewhere. */
  'host-away': {
    set: ['training.iterations=1', 'rollout.durability=turn', 'schedule.hostSeconds=0.2'],
    async play({ run }, { store, kill }) {
      const turns = 'iteration-000001/episode-';
      while ((await store.listResults(run, turns)).length < 4) await delay(5);
      await kill('rollout');
    },
  },
  steered: {
    set: ['training.iterations=8'],
    async play(run) {
      await until(run, ({ iteration }) => iteration >= 1);
      await run.pause();
      await until(run, ({ status, currentChild }) => status === 'paused' && currentChild === null);
      await run.setHyperparameters({ learningRate: 1e-4 });
      await run.setHyperparameters({ learningRate: -1 }).catch(() => undefined);
      await run.rollback(1);
      await run.resume();
      const { iteration } = await run.status();
      await until(run, (state) => state.iteration > iteration);
      await run.stop('enough');
    },
  },
  /** Everything in flight is given up. */
  'stopped-at-once': {
    set: ['training.iterations=8', 'schedule.mode=one-step-off'],
    async play(run) {
      await until(run, ({ iteration }) => iteration >= 1);
      await run.stop('at once', { now: true });
    },
  },
  /** Long enough without an engine for the watchdog to look. */
  stuck: {
    set: ['training.iterations=1'],
    async play(run, stack) {
      await until(run, ({ status }) => status === 'training');
      await standStill(stack.pidOf('train')!, 35_000);
    },
  },
};

async function until(run: RunHandle, holds: (state: RunState) => boolean): Promise<void> {
  while (!holds(await run.status())) await delay(20);
}

async function standStill(pid: number, milliseconds: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await delay(milliseconds);
  process.kill(pid, 'SIGCONT');
}
