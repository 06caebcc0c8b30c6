import { describe, expect, test } from 'vitest';
import { faultAccount } from './fault-account.ts';
import { journalLineSchema, type JournalEventInput, type JournalLine } from './journal-events.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 5, 12) + second * 1000).toISOString();
const ms = (second: number): number => Date.parse(at(second));

/** Events of one life of a process. */
function life(process: string, session: string, ...events: JournalEventInput[]): JournalLine[] {
  return [{ event: 'process-started', at: at(0) } as const, ...events].map((event) =>
    journalLineSchema.parse({ process, session, pid: Number(session.replace(/\D/g, '')), event }),
  );
}

function attempt(activity: string, task: string, number: number, start: number) {
  const pool = activity === 'updateActor' ? 'train' : activity === 'environmentStep' ? 'env' : 'rollout';
  return { activity, task, iteration: 1, attempt: number, pool, startedAt: at(start) } as const;
}
type AttemptFields = ReturnType<typeof attempt>;
const started = (fields: AttemptFields): JournalEventInput => ({ event: 'attempt-started', ...fields });
const ended = (fields: AttemptFields, end: number, error: string | null = null): JournalEventInput => ({
  ...{ event: 'attempt-ended', ...fields, endedAt: at(end), error },
});
const generated = (
  fields: AttemptFields,
  second: number,
  [tokens, unsavedTokens, unsavedTrajectorySeconds, underWay]: [number, number, number, number],
): JournalEventInput => ({
  ...{ event: 'generated', ...fields, at: at(second) },
  ...{ tokens, unsavedTokens, unsavedTrajectorySeconds, underWay },
});

describe('the account of faults', () => {
  test('of an undisturbed run is empty', () => {
    const shard = attempt('rolloutShard', 'a', 1, 1);
    const lines = life('rollout@a', 's1', started(shard), generated(shard, 2, [9, 9, 1, 3]), ended(shard, 4));
    expect(faultAccount(lines)).toEqual({
      ...{ events: [], faults: {}, retries: {}, recoverySeconds: [] },
      ...{ lostTokens: 0, lostTrajectorySeconds: 0, lostUpdateSeconds: 0 },
    });
  });

  test('counts what a killed worker had sampled and not saved, up to its death, and the time to the next token', () => {
    const [first, second] = [attempt('rolloutShard', 'a', 1, 1), attempt('rolloutShard', 'a', 2, 9)];
    const lines = [
      // At second 5: 40 of 100 tokens unsaved, 6 trajectory-seconds, 3 samples under way. Dead at second 5.5.
      ...life('rollout@a', 's1', started(first), generated(first, 5, [100, 40, 6, 3])),
      ...life(
        ...(['rollout@a', 's2'] as const),
        { event: 'process-lost', at: at(6), session: 's1' },
        started(second),
        generated(second, 10, [1, 1, 0, 1]),
        ended(second, 12),
      ),
    ];
    const deaths = [{ process: 'worker-rollout', pid: 1, at: ms(5.5), how: 'SIGKILL' }];
    const account = faultAccount(lines, deaths);
    expect(account).toMatchObject({
      faults: { 'worker-killed': 1 },
      lostTokens: 40,
      lostTrajectorySeconds: 6 + 3 * 0.5,
      recoverySeconds: [10 - 5.5],
      retries: { rolloutShard: 1 },
    });
    expect(account.events[0]).toMatchObject({ detail: 'SIGKILL', at: ms(5.5) });
    // Without the supervisor of that host, its last line is its last sign of life.
    expect(faultAccount(lines)).toMatchObject({
      faults: { 'worker-killed': 1 },
      lostTrajectorySeconds: 6,
      recoverySeconds: [5],
    });
  });

  test('takes two workers of one name for two processes, and a host that never comes back for dead', () => {
    const [x, y, again] = [
      attempt('agentTurn', 'x', 1, 1),
      attempt('agentTurn', 'y', 1, 1),
      attempt('agentTurn', 'x', 1, 20),
    ];
    const lines = [
      ...life('rollout@a', 's1', started(x), generated(x, 2, [5, 5, 1, 1])),
      ...life('rollout@a', 's2', started(y), ended(y, 30)),
      ...life('rollout@b', 's3', started(again), ended(again, 22)),
    ];
    expect(faultAccount(lines)).toMatchObject({
      faults: { 'worker-killed': 1 },
      retries: { agentTurn: 1 },
      lostTokens: 5,
      lostTrajectorySeconds: 1 + (20 - 2),
    });
  });

  test('tells a worker that fell silent from one that died: it comes back, and its late result is the second', () => {
    const [zombie, other] = [attempt('agentTurn', 'x', 1, 1), attempt('agentTurn', 'x', 2, 12)];
    const lines = [
      ...life('rollout@a', 's1', started(zombie), generated(zombie, 2, [5, 5, 1, 1]), ended(zombie, 20)),
      ...life('rollout@b', 's2', started(other), generated(other, 13, [8, 8, 0, 1]), ended(other, 15)),
    ];
    expect(faultAccount(lines)).toMatchObject({
      faults: { 'heartbeat-timeout': 1 },
      lostTokens: 5,
      recoverySeconds: [11],
      retries: { agentTurn: 1 },
    });
  });

  test('counts one death of an engine for all that it cut off, whether the keeper or only the attempts tell of it', () => {
    const error = 'EngineError: engine process exited (signal SIGKILL)';
    const turns = ['x', 'y'].map((task) => attempt('agentTurn', task, 1, 1));
    const events = turns.flatMap((turn) => [started(turn), generated(turn, 2, [4, 4, 1, 1])]);
    const ends = turns.map((turn, i) => ended(turn, 3 + i / 10, error));
    const update = attempt('updateActor', 'u', 1, 2);
    const told: JournalEventInput = { event: 'engine-exited', at: at(3), how: 'SIGKILL', inFlight: 2 };
    for (const keeper of [[], [told]]) {
      const lines = life(
        ...(['gpu@a', 's1'] as const),
        ...[...events, started(update), ...keeper, ...ends, ended(update, 3, error)],
      );
      expect(faultAccount(lines)).toMatchObject({
        faults: { 'engine-killed': 1 },
        lostTokens: 8,
        lostUpdateSeconds: 1,
      });
    }
  });

  test('counts errors by their cause, and work handed back by a worker that was told to stop', () => {
    const one = (task: string) => attempt('environmentStep', task, 1, 1);
    const lines = [
      ...life(
        ...(['env@a', 's1'] as const),
        started(one('a')),
        ended(one('a'), 2, 'StoreError: no space left'),
        started(one('b')),
        ended(one('b'), 4, 'EnvironmentError: gone'),
        started(one('c')),
        ended(one('c'), 2, 'CancelledFailure: the run was stopped'),
        started(one('d')),
        { event: 'process-ended', at: at(6) },
      ),
      ...life('env@a', 's2', started(attempt('environmentStep', 'd', 2, 7))),
    ];
    expect(faultAccount(lines)).toMatchObject({
      faults: { 'store-error': 1, 'environment-error': 1, 'hand-back': 1 },
      lostTrajectorySeconds: 1 + 3 + 5,
    });
  });

  test('counts an absence of the server once, whoever saw it', () => {
    const away = (from: number, to: number): JournalEventInput => ({
      ...{ event: 'server-away', startedAt: at(from), endedAt: at(to) },
    });
    const lines = [...life('cpu@a', 's1', away(20, 50)), ...life('env@b', 's2', away(24, 52), away(90, 95))];
    expect(faultAccount(lines).faults).toEqual({ 'server-away': 2 });
    const deaths = [{ process: 'temporal', pid: 7, at: ms(19), how: 'SIGKILL' }];
    expect(faultAccount(lines, deaths).faults).toEqual({ 'server-away': 2 });
  });
});
