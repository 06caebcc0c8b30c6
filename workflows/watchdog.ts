/**
 * Looks after work that takes long: what is stuck and why is shown in the run's status and in the Web UI. It looks after half a
 * minute, and then ever more seldom, so that healthy work costs a timer that is never fired, or few events in hours.
 */
import { CancellationScope, isCancellation, proxyActivities, sleep } from '@temporalio/workflow';
import type { CpuActivities } from '../activities/interface.ts';
import { taskQueues } from '../core/ids.ts';
import type { Stuck } from '../core/stuck.ts';

const firstWait = 30_000;
const longestWait = 480_000;

const { examineRun } = proxyActivities<CpuActivities>({
  taskQueue: taskQueues.cpu,
  scheduleToCloseTimeout: '20s',
  cancellationType: 'ABANDON',
  retry: { maximumAttempts: 1 },
});

/** Does work, and tells what it is stuck at meanwhile, whenever that has changed; null when it goes on again. */
export async function watched<T>(
  run: string,
  work: () => Promise<T>,
  tell: (stuck: Stuck | null) => void,
): Promise<T> {
  const watch = new CancellationScope();
  watch
    .run(() => look(run, tell))
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    });
  try {
    return await work();
  } finally {
    watch.cancel();
  }
}

async function look(run: string, tell: (stuck: Stuck | null) => void): Promise<never> {
  let last = null as Stuck | null;
  for (let wait = firstWait; ; wait = Math.min(2 * wait, longestWait)) {
    await sleep(wait);
    const stuck = await examine(run);
    if (stuck?.what !== last?.what || stuck?.why !== last?.why) tell(stuck);
    last = stuck;
  }
}

async function examine(run: string): Promise<Stuck | null> {
  const since = new Date().toISOString();
  try {
    return (await examineRun({ run })).stuck;
  } catch (error) {
    if (isCancellation(error)) throw error;
    return {
      what: 'examineRun',
      why: `no worker of ${taskQueues.cpu} has told in time what the run waits for`,
      since,
      hint: 'See whether one is up: rekindle up --pools cpu',
    };
  }
}
