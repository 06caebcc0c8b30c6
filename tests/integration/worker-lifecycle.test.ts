/** What workers do when they are told to end, are stopped and go on, or lose the server for a while: a run neither stops nor changes. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readFaults } from '../../activities/report/read-fault-account.ts';
import type { RunState } from '../../core/contracts.ts';
import type { FaultAccount } from '../../store/fault-account.ts';
import type { JournalEvent, JournalLine } from '../../store/journal-events.ts';
import { readJournals } from '../../store/read-journal.ts';
import { committedEntries } from '../../store/run-history.ts';
import { verifyRun } from '../../store/verify.ts';
import { startStack, type TestStack } from '../harness/stack.ts';

type Attempt = JournalLine & { event: Extract<JournalEvent, { event: 'attempt-ended' }> };

/** Shards that take long enough to be met in the midst of it. */
const set = ['training.iterations=2', 'rollout.tasksPerIteration=256', 'rollout.tasksPerShard=128'];
const briefly = [...set, 'training.iterations=1'];

describe('a run of the smoke recipe', () => {
  let stack: TestStack;

  beforeAll(async () => {
    stack = await startStack();
    await (await stack.rekindle.train('smoke', { run: 'undisturbed', set })).result();
  });
  afterAll(() => stack.stop());

  const folderOf = (run: string): string => join(stack.runsFolder, 'training', run);
  const linesOf = async (run: string): Promise<JournalLine[]> =>
    (await readJournals(join(folderOf(run), 'logs'))).lines;
  const accountOf = async (run: string): Promise<FaultAccount> =>
    (await readFaults(folderOf(run), { start: new Date(0).toISOString(), end: null })).account;
  const endedAttempts = async (run: string): Promise<Attempt[]> =>
    (await linesOf(run)).filter((line): line is Attempt => line.event.event === 'attempt-ended');

  async function expectUndisturbed(run: string, { iteration, weights }: RunState): Promise<void> {
    const entries = await committedEntries(stack.store, 'undisturbed');
    const same = entries.find((entry) => entry.kind === 'reinforcement' && entry.iteration === iteration);
    expect(weights).toBe(same!.weights.hash);
    expect(await verifyRun(stack.store, run)).toMatchObject({ ok: true, doubleSteps: 0 });
  }

  test('outlives a restart of every worker in turn: work is handed back, nobody waits for a heartbeat', async () => {
    const run = await stack.rekindle.train('smoke', { run: 'restarted', set });
    const before = stack.processes().map(({ pid }) => pid);
    for (const pool of ['rollout', 'train', 'control', 'cpu', 'env'] as const) {
      const activity = pool === 'rollout' ? 'rolloutShard' : pool === 'train' ? 'updateActor' : null;
      if (activity !== null)
        while ((await openTask('restarted', activity, stack.pidOf(pool))) === null) await delay(10);
      await stack.restart(pool);
    }
    for (const { name, pid } of stack.processes())
      expect(before.includes(pid), name).toBe(name === 'temporal');
    await expectUndisturbed('restarted', await run.result());

    const { faults, lostTokens } = await accountOf('restarted');
    expect(Object.keys(faults)).toEqual(['hand-back']);
    // Of a shard that is handed back, responses that were under way are begun anew: at most one in each slot of the engine.
    expect(lostTokens).toBeLessThanOrEqual(faults['hand-back']! * 32 * 4);
  });

  describe('with two workers of each pool', () => {
    beforeAll(async () => {
      for (const pool of ['rollout', 'train'] as const) await stack.addWorker([pool]);
    });

    test.each(['rollout', 'train'] as const)(
      'a stopped %s worker that comes back after another has done its work changes nothing',
      async (pool) => {
        const name = `zombie-${pool}`;
        const activity = pool === 'rollout' ? 'rolloutShard' : 'updateActor';
        const run = await stack.rekindle.train('smoke', { run: name, set: briefly });
        const { pid: zombie, task: begun } = await stopInTheMidst(name, activity);
        // Witness: another process has done the work of the attempt that hangs.
        const isTakenOver = ({ pid, event }: Attempt): boolean =>
          pid !== zombie && event.task === begun && event.error === null;
        while (!(await endedAttempts(name)).some(isTakenOver)) await delay(50);
        process.kill(zombie, 'SIGCONT');
        // Witness: the late attempt went on, and ended in its own time.
        const cameBack = ({ pid, event }: Attempt): boolean => pid === zombie && event.task === begun;
        while (!(await endedAttempts(name)).some(cameBack)) await delay(50);
        await expectUndisturbed(name, await run.result());
      },
    );
  });

  test('a server that answers nobody for some seconds is waited for', async () => {
    const run = await stack.rekindle.train('smoke', { run: 'deaf-server', set: briefly });
    while ((await run.status()).status !== 'training') await delay(20);
    const server = stack.pidOf('temporal')!;
    process.kill(server, 'SIGSTOP');
    await delay(3_000);
    process.kill(server, 'SIGCONT');
    await expectUndisturbed('deaf-server', await run.result());
  });

  /** Stops a process while it is at an activity of a run; returns the process, and the task that it is at. */
  async function stopInTheMidst(run: string, activity: string): Promise<{ pid: number; task: string }> {
    for (;;) {
      const found = await openTask(run, activity);
      if (found !== null) {
        process.kill(found.pid, 'SIGSTOP');
        if ((await openTask(run, activity, found.pid))?.task === found.task) return found;
        process.kill(found.pid, 'SIGCONT');
      }
      await delay(15);
    }
  }

  /** A task of an activity that a process is at. */
  async function openTask(
    run: string,
    activity: string,
    pid?: number,
  ): Promise<{ pid: number; task: string } | null> {
    const open = new Map<string, { pid: number; task: string }>();
    for (const line of await linesOf(run)) {
      if (!('task' in line.event) || line.event.activity !== activity) continue;
      if (pid !== undefined && line.pid !== pid) continue;
      const task = line.event.task!;
      if (line.event.event === 'attempt-started') open.set(`${line.pid} ${task}`, { pid: line.pid, task });
      if (line.event.event === 'attempt-ended') open.delete(`${line.pid} ${task}`);
    }
    return [...open.values()][0] ?? null;
  }
}, 120_000);
