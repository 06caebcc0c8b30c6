import { describe, expect, it } from 'vitest';
import { stuckLine, whatIsStuck, type PendingActivity, type PendingWork } from './stuck.ts';

const now = Date.UTC(2026, 0, 5, 12);
const ago = (seconds: number): number => now - seconds * 1000;

function pending(given: Partial<PendingActivity>): PendingActivity {
  return {
    ...{ activity: 'rolloutShard', queue: 'rekindle-rollout', started: false, attempt: 1, worker: 'w' },
    ...{ scheduledAt: ago(40), startedAt: null, nextAttemptAt: null, lastSign: null, failure: null },
    ...given,
  };
}
const running = (given: Partial<PendingActivity>): PendingActivity =>
  pending({ started: true, startedAt: ago(40), lastSign: ago(1), ...given });

function work(activities: PendingActivity[], polled: number | null = 10): PendingWork {
  const queues = [...activities.map(({ queue }) => queue), 'rekindle-control'];
  const at = polled === null ? null : ago(polled);
  return { activities, steps: [], lastPolls: Object.fromEntries(queues.map((queue) => [queue, at])) };
}

const lines = (...args: Parameters<typeof whatIsStuck>): string[] => whatIsStuck(...args).map(stuckLine);

describe('what keeps a run from going on', () => {
  it('is nothing while activities run and are polled for', () => {
    expect(whatIsStuck(work([running({}), pending({ scheduledAt: ago(20) })]), now)).toEqual([]);
  });

  it('names a queue that no worker polls, once for all that waits there, with the command that starts one', () => {
    for (const polled of [null, 80]) {
      expect(whatIsStuck(work([pending({}), pending({ scheduledAt: ago(50) })], polled), now)).toEqual([
        {
          what: 'rolloutShard (2)',
          why: 'no worker polls rekindle-rollout',
          since: new Date(ago(50)).toISOString(),
          hint: 'Start one: rekindle up --pools rollout',
        },
      ]);
    }
  });

  it('takes workers that do not poll because they are busy for busy, not for absent', () => {
    expect(whatIsStuck(work([running({}), pending({})], null), now)).toEqual([]);
    expect(lines(work([running({}), pending({ scheduledAt: ago(61) })], null), now)).toEqual([
      expect.stringContaining('its workers are busy'),
    ]);
  });

  it('tells a host that is gone from a pool without workers', () => {
    expect(
      lines(work([pending({ queue: 'rekindle-env-a', activity: 'environmentStep' })], null), now),
    ).toEqual([expect.stringContaining('goes to another worker of rekindle-env when')]);
  });

  it.each([
    ['StoreError', 'cannot write x: Error: ENOSPC: no space left on device', 'a full store', 'Make space'],
    ['StoreError', "EACCES: permission denied, open 'x'", 'cannot be written', 'Let the workers write'],
    ['EngineError', 'engine process exited (signal SIGSEGV)', 'SIGSEGV', 'output of the worker'],
    ['EnvironmentError', 'program ended', 'program ended', 'host of the environments'],
    [null, 'HTTP 429: too many requests', 'a rate limit', 'as fast as it is let'],
    [null, 'activity Heartbeat timeout', 'a missed heartbeat', 'died or hung'],
  ])('names the last failure of attempts that fail again and again: %s %s', (type, message, why, hint) => {
    const [finding] = whatIsStuck(
      work([pending({ attempt: 4, nextAttemptAt: ago(-5), failure: { type, message } })]),
      now,
    );
    expect(finding?.why).toContain('3 attempts failed');
    expect(finding?.why).toContain(why);
    expect(finding?.hint).toContain(hint);
  });

  it('names a silent worker, and an activity that runs far longer than before, with its progress', () => {
    expect(lines(work([running({ lastSign: ago(35) })]), now)[0]).toContain('w has been silent for 35 s');
    const slow = work([running({ startedAt: ago(600) })]);
    expect(lines(slow, now, { usual: { rolloutShard: 250 } })).toEqual([]);
    expect(lines(slow, now, { usual: { rolloutShard: 100 }, progress: '3 of 8 done' })).toEqual([
      expect.stringContaining('runs for 10 min, usually 100 s, 3 of 8 done'),
    ]);
  });

  it('names a control worker that is away, and a workflow whose steps fail, before anything else', () => {
    const steps = [{ workflow: 'train-a', scheduledAt: ago(20), attempt: 1 }];
    expect(lines({ ...work([pending({})], null), steps }, now)).toEqual([
      expect.stringContaining('no worker polls rekindle-rollout'),
      expect.stringContaining('no worker polls rekindle-control. Start one: rekindle up --pools control'),
    ]);
    const failing = [{ workflow: 'train-a', scheduledAt: ago(1), attempt: 5 }];
    expect(lines({ ...work([]), steps: failing }, now)[0]).toContain('has failed 4 times');
  });
});
