/** What the journals of a run tell: which attempts ran when, which of them were cut off, and when the engine worked. */
import type { Pool } from '../core/ids.ts';
import { secondsCovered, type Interval } from './intervals.ts';
import type { Generated, JournalEvent, JournalLine } from './journal-events.ts';
import { livesOf, type ProcessDeath } from './process-lives.ts';

export type AttemptEnd = 'completed' | 'failed' | 'interrupted' | 'running';

/** One attempt of an activity. Moments are milliseconds since the Unix epoch. */
export interface Attempt {
  activity: string;
  /** The same for every attempt at the same input; null where it is not known. */
  task: string | null;
  iteration: number | null;
  attempt: number;
  pool: Pool;
  process: string;
  session: string;
  start: number;
  /** Null while it runs; for an interrupted attempt the end of its process, or the start of the attempt that took over. */
  end: number | null;
  outcome: AttemptEnd;
  error: string | null;
  /** When it had its first token; null when it has none. */
  firstToken: number | null;
  /** What it had sampled when it last said so, and when that was. */
  generated: (Generated & { at: number }) | null;
}

export interface JournalSummary {
  /** By start. */
  attempts: Attempt[];
  /** Seconds of wall time in which each activity ran; attempts at the same time count once. */
  secondsByActivity: Record<string, number>;
  engineCalls: (Interval & { op: string; tokens: number })[];
  engineBusySeconds: number;
}

/**
 * An attempt without an end is interrupted when its process is known to have ended, when a later attempt of its task began, or
 * when `finished` says that the run is over; otherwise it is running.
 */
export function summarizeJournals(
  lines: readonly JournalLine[],
  finished: boolean,
  deaths: readonly ProcessDeath[] = [],
): JournalSummary {
  const attempts = attemptsOf(lines);
  const lives = livesOf(lines, deaths);
  for (const attempt of attempts) {
    if (attempt.outcome !== 'running') continue;
    const life = lives.get(attempt.session)!;
    const end = life.end ?? successorOf(attempt, attempts)?.start ?? (finished ? life.lastSign : null);
    if (end !== null) Object.assign(attempt, { outcome: 'interrupted', end });
  }
  const engineCalls = lines.flatMap(({ event }) =>
    event.event === 'engine-call'
      ? [{ op: event.op, tokens: event.tokens ?? 0, ...interval(event.startedAt, event.endedAt) }]
      : [],
  );
  return {
    attempts,
    secondsByActivity: secondsByActivity(attempts),
    engineCalls,
    engineBusySeconds: secondsCovered(engineCalls),
  };
}

/** The next attempt at the same task, if one began. `attempts` are in the order of their start. */
export function successorOf(attempt: Attempt, attempts: readonly Attempt[]): Attempt | undefined {
  if (attempt.task === null) return undefined;
  const from = attempts.indexOf(attempt) + 1;
  return attempts.slice(from).find((other) => isSameTask(attempt, other) && other.start > attempt.start);
}

export function isSameTask(a: Attempt, b: Attempt): boolean {
  return a.task !== null && a.task === b.task && a.activity === b.activity;
}

type AttemptEvent = Extract<JournalEvent, { event: 'attempt-started' | 'attempt-ended' | 'generated' }>;

/** By start; those without an end as `running`. */
function attemptsOf(lines: readonly JournalLine[]): Attempt[] {
  const open = new Map<string, Attempt[]>();
  const attempts: Attempt[] = [];
  for (const { process, session, event } of lines) {
    if (event.event === 'attempt-started') {
      const { activity, task, iteration, attempt, pool, startedAt } = event;
      const started: Attempt = {
        ...{ activity, task, iteration, attempt, pool, process, session, start: Date.parse(startedAt) },
        ...{ end: null, outcome: 'running', error: null, firstToken: null, generated: null },
      };
      attempts.push(started);
      const same = open.get(identity(session, event));
      if (same === undefined) open.set(identity(session, event), [started]);
      else same.push(started);
    } else if (event.event === 'generated') {
      const [attempt] = open.get(identity(session, event)) ?? [];
      if (attempt !== undefined) noteGenerated(attempt, event, Date.parse(event.at));
    } else if (event.event === 'attempt-ended') {
      const ended = open.get(identity(session, event))?.shift();
      if (ended === undefined) continue;
      ended.end = Date.parse(event.endedAt);
      ended.outcome = event.error === null ? 'completed' : 'failed';
      ended.error = event.error;
      if (event.generated !== undefined) noteGenerated(ended, event.generated, ended.end);
    }
  }
  return attempts.sort((a, b) => a.start - b.start);
}

function noteGenerated(attempt: Attempt, generated: Generated, at: number): void {
  const { tokens, unsavedTokens, unsavedTrajectorySeconds, underWay } = generated;
  attempt.firstToken ??= at;
  attempt.generated = { tokens, unsavedTokens, unsavedTrajectorySeconds, underWay, at };
}

function identity(session: string, { activity, task, iteration, attempt, startedAt }: AttemptEvent): string {
  return JSON.stringify([session, activity, task, iteration, attempt, startedAt]);
}

function secondsByActivity(attempts: readonly Attempt[]): Record<string, number> {
  const seconds: Record<string, number> = {};
  for (const activity of new Set(attempts.map((attempt) => attempt.activity))) {
    const own = attempts.filter((attempt) => attempt.activity === activity);
    seconds[activity] = secondsCovered(
      own.flatMap(({ start, end }) => (end === null ? [] : [{ start, end }])),
    );
  }
  return seconds;
}

function interval(startedAt: string, endedAt: string): Interval {
  return { start: Date.parse(startedAt), end: Date.parse(endedAt) };
}
