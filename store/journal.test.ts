import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { secondsCovered, unionOf } from './intervals.ts';
import type { JournalEventInput } from './journal-events.ts';
import { summarizeJournals } from './journal-summary.ts';
import { openJournal } from './journal.ts';
import { readJournals } from './read-journal.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 5, 12, 0, 0) + second * 1000).toISOString();

function attempt(activity: string, number: number, start: number) {
  return { activity, iteration: 1, attempt: number, pool: 'train', startedAt: at(start) } as const;
}
function started(activity: string, number: number, start: number): JournalEventInput {
  return { event: 'attempt-started', ...attempt(activity, number, start) };
}
function ended(
  activity: string,
  number: number,
  start: number,
  end: number,
  error: string | null = null,
): JournalEventInput {
  return { event: 'attempt-ended', ...attempt(activity, number, start), endedAt: at(end), error };
}

async function write(folder: string, name: string, events: JournalEventInput[]): Promise<void> {
  const journal = openJournal(folder, name);
  for (const event of events) journal.write(event);
  await journal.flush();
  expect(journal.lost()).toBe(0);
}

async function summary(folder: string, finished = false) {
  return summarizeJournals((await readJournals(folder)).lines, finished);
}

test('the attempts of all processes come back in the order of their start, with their seconds', async () => {
  const logs = join(scratchFolder(), 'logs');
  await write(logs, 'train', [started('updateActor', 1, 2), ended('updateActor', 1, 2, 5)]);
  await write(logs, 'rollout', [
    started('rolloutShard', 1, 0),
    started('rolloutShard', 1, 0),
    ended('rolloutShard', 1, 0, 1),
    ended('rolloutShard', 1, 0, 2, 'EngineError'),
  ]);
  const { attempts, secondsByActivity } = await summary(logs);
  expect(attempts.map(({ activity, outcome, error }) => [activity, outcome, error])).toEqual([
    ['rolloutShard', 'completed', null],
    ['rolloutShard', 'failed', 'EngineError'],
    ['updateActor', 'completed', null],
  ]);
  expect(secondsByActivity).toEqual({ rolloutShard: 2, updateActor: 3 });
});

test('an attempt that a crash cut off is interrupted once its process is back; until then it runs', async () => {
  const logs = scratchFolder();
  await write(logs, 'train', [started('updateActor', 1, 1)]);
  expect((await summary(logs)).attempts[0]).toMatchObject({ outcome: 'running', end: null });
  expect((await summary(logs, true)).attempts[0]).toMatchObject({ outcome: 'interrupted' });

  await write(logs, 'train', [started('updateActor', 2, 6), ended('updateActor', 2, 6, 9)]);
  const after = await summary(logs);
  expect(after.attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
    [1, 'interrupted'],
    [2, 'completed'],
  ]);
});

test('engine calls that overlap keep the engine busy once', async () => {
  const logs = scratchFolder();
  const call = (start: number, end: number): JournalEventInput => ({
    event: 'engine-call',
    op: 'generate',
    startedAt: at(start),
    endedAt: at(end),
    tokens: 10,
  });
  await write(logs, 'rollout', [call(0, 2), call(1, 4), call(6, 7)]);
  const { engineBusySeconds, engineCalls } = await summary(logs);
  expect(engineBusySeconds).toBe(5);
  expect(engineCalls.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(30);
});

test('a line torn by a crash spoils no other, wherever it stands', async () => {
  const logs = scratchFolder();
  await write(logs, 'train', [started('updateActor', 1, 1)]);
  appendFileSync(join(logs, 'train.jsonl'), '{"process":"train","sess');
  await write(logs, 'train', [started('updateActor', 2, 2)]);
  appendFileSync(join(logs, 'train.jsonl'), '{"process":"tr');
  const { lines, unreadable } = await readJournals(logs);
  const told = lines.map(({ event }) => event.event);
  const opening = ['process-started', 'attempt-started'];
  expect(told).toEqual([...opening, 'process-started', 'process-lost', 'attempt-started']);
  expect(unreadable).toBe(2);
});

test('a journal that cannot be written counts what it lost and throws nothing', async () => {
  const logs = join(scratchFolder(), 'logs');
  writeFileSync(logs, 'a file in the way');
  const journal = openJournal(logs, 'train');
  journal.write(started('updateActor', 1, 1));
  await journal.flush();
  expect(journal.lost()).toBe(2);
});

test('events reach the file in the order in which they were written', async () => {
  const logs = scratchFolder();
  const journal = openJournal(logs, 'train');
  for (let i = 1; i <= 200; i++) {
    journal.write(started('step', i, i));
    if (i % 50 === 0) await journal.flush();
  }
  await journal.flush();
  const { lines } = await readJournals(logs);
  const order = lines.flatMap(({ event }) => (event.event === 'attempt-started' ? [event.attempt] : []));
  expect(order).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
});

test('a run without logs has an empty journal', async () => {
  const folder = scratchFolder();
  mkdirSync(join(folder, 'empty'));
  expect(await readJournals(join(folder, 'absent'))).toEqual({ lines: [], unreadable: 0 });
  expect(await readJournals(join(folder, 'empty'))).toEqual({ lines: [], unreadable: 0 });
});

test('other JSON in the log folder is not taken for a journal', async () => {
  const logs = scratchFolder();
  writeFileSync(join(logs, 'pino.jsonl'), '{"level":30,"msg":"hello"}\n');
  writeFileSync(join(logs, 'stdout.txt'), 'hello');
  expect(await readJournals(logs)).toEqual({ lines: [], unreadable: 1 });
  expect(readFileSync(join(logs, 'stdout.txt'), 'utf8')).toBe('hello');
});

test('a union of intervals is disjoint, ascending, and covers the same points', () => {
  const interval = fc
    .tuple(fc.nat(50), fc.nat(10))
    .map(([start, length]) => ({ start, end: start + length }));
  const covers = (all: { start: number; end: number }[], point: number) =>
    all.some(({ start, end }) => start <= point && point < end);
  fc.assert(
    fc.property(fc.array(interval), (intervals) => {
      const union = unionOf(intervals);
      union.slice(1).forEach(({ start }, i) => expect(start).toBeGreaterThan(union[i]!.end));
      const points = Array.from({ length: 61 }, (_, i) => i).filter((point) => covers(intervals, point));
      expect(secondsCovered(intervals) * 1000).toBeCloseTo(points.length, 6);
      for (const point of points) expect(covers(union, point)).toBe(true);
    }),
  );
});
