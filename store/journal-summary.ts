/** What the journals of a run tell: which attempts ran when, which a crash cut off, and when the engine worked. */
import type { Pool } from '../core/ids.ts';
import { secondsCovered, type Interval } from './intervals.ts';
import type { JournalEvent, JournalLine } from './journal-events.ts';

export type AttemptEnd = 'completed' | 'failed' | 'interrupted' | 'running';

/** One attempt of an activity. `start` and `end` are milliseconds since the Unix epoch. */
export interface Attempt {
  activity: string;
  key: string | null;
  iteration: number | null;
  attempt: number;
  pool: Pool;
  process: string;
  start: number;
  /** Null while it runs; for an interrupted attempt the last sign of life of its process. */
  end: number | null;
  outcome: AttemptEnd;
  error: string | null;
}

export interface JournalSummary {
  /** By start. */
  attempts: Attempt[];
  /** Seconds of wall time in which each activity ran; attempts at the same time count once. */
  secondsByActivity: Record<string, number>;
  /** Attempts cut off by the death of their process. */
  interrupted: Attempt[];
  /** Attempts after an activity's first. */
  retries: number;
  engineCalls: (Interval & { op: string; tokens: number })[];
  engineBusySeconds: number;
  faults: { at: number; process: string; kind: string; detail: string }[];
  /** Processes that were started again, with how often. */
  restarts: Record<string, number>;
}

/**
 * An attempt without an end is interrupted when its process started again later, or when `finished` says that the run is
 * over; otherwise it is running.
 */
export function summarizeJournals(lines: readonly JournalLine[], finished: boolean): JournalSummary {
  const sessions = groupBy(lines, (line) => line.session);
  const lastSessionOf = new Map<string, string>();
  const sessionCounts: Record<string, number> = {};
  for (const [session, own] of sessions) {
    const name = own[0]!.process;
    lastSessionOf.set(name, session);
    sessionCounts[name] = (sessionCounts[name] ?? 0) + 1;
  }
  const attempts: Attempt[] = [];
  for (const [session, own] of sessions) {
    const over = finished || lastSessionOf.get(own[0]!.process) !== session;
    attempts.push(...attemptsOf(own, over));
  }
  attempts.sort((a, b) => a.start - b.start);

  const engineCalls = lines.flatMap(({ event }) =>
    event.event === 'engine-call'
      ? [{ op: event.op, tokens: event.tokens ?? 0, ...interval(event.startedAt, event.endedAt) }]
      : [],
  );
  return {
    attempts,
    secondsByActivity: secondsByActivity(attempts),
    interrupted: attempts.filter(({ outcome }) => outcome === 'interrupted'),
    retries: attempts.filter(({ attempt }) => attempt > 1).length,
    engineCalls,
    engineBusySeconds: secondsCovered(engineCalls),
    faults: lines.flatMap(({ process, event }) =>
      event.event === 'fault'
        ? [{ at: Date.parse(event.at), process, kind: event.kind, detail: event.detail }]
        : [],
    ),
    restarts: Object.fromEntries(
      Object.entries(sessionCounts).flatMap(([name, count]) => (count > 1 ? [[name, count - 1]] : [])),
    ),
  };
}

type AttemptEvent = Extract<JournalEvent, { event: 'attempt-started' | 'attempt-ended' }>;

function attemptsOf(session: readonly JournalLine[], over: boolean): Attempt[] {
  const lastSign = Math.max(...session.map(({ event }) => lastMoment(event)));
  const open = new Map<string, Attempt[]>();
  const attempts: Attempt[] = [];
  for (const { process, event } of session) {
    if (event.event === 'attempt-started') {
      const { activity, key, iteration, attempt, pool } = event;
      const unfinished = { end: over ? lastSign : null, outcome: over ? 'interrupted' : 'running' } as const;
      const start = Date.parse(event.startedAt);
      const started: Attempt = {
        activity,
        key,
        iteration,
        attempt,
        pool,
        process,
        start,
        ...unfinished,
        error: null,
      };
      attempts.push(started);
      open.set(identity(event), [...(open.get(identity(event)) ?? []), started]);
    } else if (event.event === 'attempt-ended') {
      const ended = open.get(identity(event))?.shift();
      if (ended === undefined) continue;
      ended.end = Date.parse(event.endedAt);
      ended.outcome = event.error === null ? 'completed' : 'failed';
      ended.error = event.error;
    }
  }
  return attempts;
}

function identity({ activity, key, iteration, attempt, startedAt }: AttemptEvent): string {
  return JSON.stringify([activity, key, iteration, attempt, startedAt]);
}

function lastMoment(event: JournalEvent): number {
  if ('endedAt' in event) return Date.parse(event.endedAt);
  return Date.parse('startedAt' in event ? event.startedAt : event.at);
}

function secondsByActivity(attempts: readonly Attempt[]): Record<string, number> {
  const seconds: Record<string, number> = {};
  for (const [activity, own] of groupBy(attempts, (attempt) => attempt.activity)) {
    seconds[activity] = secondsCovered(
      own.flatMap(({ start, end }) => (end === null ? [] : [{ start, end }])),
    );
  }
  return seconds;
}

function interval(startedAt: string, endedAt: string): Interval {
  return { start: Date.parse(startedAt), end: Date.parse(endedAt) };
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
