import { expect, it } from 'vitest';
import { RekindleError } from '../core/errors.ts';
import type { RunState } from '../core/contracts.ts';
import { runState } from '../tests/fixtures/run-state.ts';
import { watchRun, type RunEvent, type WatchedRun } from './watch.ts';

const stuck = {
  what: 'rolloutShard',
  why: 'no worker polls rekindle-rollout',
  since: '',
  hint: 'Start one.',
};

/** A run that answers each round of questions with the next of these. */
function scripted(rounds: (RunState | Error | 'ended')[]): WatchedRun {
  let round = -1;
  const current = (): RunState | Error | 'ended' => rounds[round]!;
  return {
    isOpen() {
      round += 1;
      const answer = current();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer !== 'ended');
    },
    status: () => Promise.resolve(current() as RunState),
    examine: () => Promise.resolve([stuck]),
    phase: () => Promise.resolve({ phase: 'rollout', since: '', done: 1, total: 2 }),
    result: () => Promise.resolve(runState({ status: 'completed' })),
  };
}

async function collect(run: WatchedRun): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of watchRun(run, { interval: 1 })) events.push(event);
  return events;
}

it('tells progress with the phase of the current iteration, and ends with the result', async () => {
  const state = runState({ currentChild: 'train-x-it-1' });
  const events = await collect(scripted([state, runState({}), 'ended']));
  expect(events.map(({ kind }) => kind)).toEqual(['progress', 'progress', 'finished']);
  expect(events[0]).toMatchObject({ phase: { phase: 'rollout' } });
  expect(events[1]).toMatchObject({ phase: null });
});

it('goes on when the server comes back', async () => {
  const away = new RekindleError('TemporalError', 'Temporal does not answer at here:1');
  const events = await collect(scripted([runState({}), away, away, runState({}), 'ended']));
  expect(events.map(({ kind }) => kind)).toEqual(['progress', 'waiting', 'waiting', 'progress', 'finished']);
  expect(events[1]).toEqual({ kind: 'waiting', reason: 'Temporal does not answer at here:1' });
});

it('throws what does not pass by waiting', async () => {
  const unknown = new RekindleError('RunNotFoundError', 'no run x');
  await expect(collect(scripted([unknown]))).rejects.toBe(unknown);
});

it('ends without an event when its reader leaves', async () => {
  const leave = new AbortController();
  leave.abort();
  for await (const event of watchRun(scripted([]), { signal: leave.signal })) expect.unreachable(event.kind);
});

it('asks what is stuck when nothing has changed for ten looks, and forgets it when something has', async () => {
  const moved = runState({ iteration: 2 });
  const rounds = [...Array.from({ length: 12 }, () => runState({})), moved, 'ended' as const];
  const events = await collect(scripted(rounds));
  const told = events.flatMap((event) => (event.kind === 'progress' ? [event.state.stuck] : []));
  expect(told).toEqual([...Array.from({ length: 10 }, () => null), stuck, stuck, null]);
});
