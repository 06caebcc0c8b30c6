/**
 * The account of a run's faults: what happened, what work it cost, and how soon sampling went on. Computed from the journals of
 * all processes of all hosts; the journal of a supervisor adds what only it can see (the moment of a death, the server's).
 *
 * Lost is what an attempt had sampled and recorded nowhere when a fault ended it. Tokens are known to the last line that the
 * attempt wrote, at most a second before; seconds of samples under way are counted to the fault itself.
 */
import type { FaultKind } from '../core/fault-kinds.ts';
import type { FaultTotals } from '../core/fault-totals.ts';
import { unionOf } from './intervals.ts';
import type { JournalLine } from './journal-events.ts';
import { isSameTask, summarizeJournals, type Attempt } from './journal-summary.ts';
import { livesOf, type Life, type ProcessDeath } from './process-lives.ts';

export interface Fault {
  kind: FaultKind;
  /** Milliseconds since the Unix epoch. */
  at: number;
  process: string;
  detail: string;
  /** Attempts that it ended. */
  attempts: Attempt[];
  lostTokens: number;
  lostTrajectorySeconds: number;
  lostUpdateSeconds: number;
  /** Until the first new token of a task whose sampling it cut off; null when it cut off none, or none has come yet. */
  recoverySeconds: number | null;
}

export interface FaultAccount extends FaultTotals {
  /** By moment. */
  events: Fault[];
}

/** Milliseconds within which failures of one process tell of the same fault, by kind; others stand alone. */
const sameFault: Partial<Record<FaultKind, number>> = {
  'engine-killed': 1_000,
  'engine-hung': 1_000,
  'hand-back': 30_000,
  'heartbeat-timeout': 10_000,
  'worker-killed': 10_000,
};

/** Workers look for the server this often, so that their reports of one absence may be as far apart. */
const serverSlack = 10_000;

export function faultAccount(
  lines: readonly JournalLine[],
  deaths: readonly ProcessDeath[] = [],
): FaultAccount {
  const { attempts } = summarizeJournals(lines, false, deaths);
  const lives = livesOf(lines, deaths);
  const tasks = groupByTask(attempts);
  const lost = [...lives.values()].filter(({ ended }) => ended === 'lost');
  const deathOf = new Map(lost.map((life) => [life.session, deathOfLife(life)]));
  const events: Fault[] = [
    ...deathOf.values(),
    ...idleDeaths(lost, deaths),
    ...serverAbsences(lines, deaths),
    ...engineExits(lines),
  ];
  for (const attempt of attempts) {
    const kind = endingFault(attempt, tasks, lives);
    if (kind === null) continue;
    const at = momentOf(kind, attempt, lives);
    let fault =
      (kind === 'worker-killed' ? deathOf.get(attempt.session) : undefined) ??
      events.find((known) => isSameFault(known, kind, attempt.process, at));
    if (fault === undefined) {
      fault = newFault(kind, at, attempt.process, attempt.error ?? '');
      events.push(fault);
    }
    fault.attempts.push(attempt);
  }
  for (const fault of events) Object.assign(fault, costOf(fault, tasks));
  events.sort((a, b) => a.at - b.at);
  return { events, ...totalsOf(events, attempts, tasks) };
}

function newFault(kind: FaultKind, at: number, process: string, detail: string): Fault {
  return {
    ...{ kind, at, process, detail, attempts: [] },
    ...{ lostTokens: 0, lostTrajectorySeconds: 0, lostUpdateSeconds: 0, recoverySeconds: null },
  };
}

function isSameFault(fault: Fault, kind: FaultKind, process: string, at: number): boolean {
  const within = sameFault[kind];
  return (
    within !== undefined &&
    fault.kind === kind &&
    fault.process === process &&
    Math.abs(fault.at - at) <= within
  );
}

function deathOfLife({ process, lastSign, how }: Life): Fault {
  return newFault('worker-killed', lastSign, process, how ?? '');
}

/** Deaths that only a supervisor saw: of processes that had not worked for the run. */
function idleDeaths(lost: readonly Life[], deaths: readonly ProcessDeath[]): Fault[] {
  return deaths
    .filter(({ process, pid }) => process !== serverProcess && !lost.some((life) => life.pid === pid))
    .map(({ process, at, how }) => newFault('worker-killed', at, process, how));
}

/** The supervisor's name of the server that Rekindle starts. */
const serverProcess = 'temporal';

/** What several workers and the supervisor saw of one absence counts once. */
function serverAbsences(lines: readonly JournalLine[], deaths: readonly ProcessDeath[]): Fault[] {
  const killed = deaths.filter(({ process }) => process === serverProcess);
  const seen = lines.flatMap(({ event }) =>
    event.event === 'server-away'
      ? [{ start: Date.parse(event.startedAt) - serverSlack, end: Date.parse(event.endedAt) }]
      : [],
  );
  const unseen = unionOf(seen).filter(({ start, end }) => !killed.some(({ at }) => at >= start && at <= end));
  return [
    ...killed.map(({ at, how }) => ({ at, detail: how })),
    ...unseen.map(({ start }) => ({ at: start + serverSlack, detail: 'it did not answer' })),
  ].map(({ at, detail }) => newFault('server-away', at, serverProcess, detail));
}

function engineExits(lines: readonly JournalLine[]): Fault[] {
  return lines.flatMap(({ process, event }) => {
    if (event.event !== 'engine-exited') return [];
    const kind = event.hung ? 'engine-hung' : 'engine-killed';
    return [newFault(kind, Date.parse(event.at), process, event.how)];
  });
}

/** How the errors of attempts tell what ended them. What a workflow cancelled, nobody took over: that is no fault. */
const errorPatterns: { pattern: RegExp; kind: FaultKind }[] = [
  { pattern: /engine hung/, kind: 'engine-hung' },
  { pattern: /engine process exited/, kind: 'engine-killed' },
  { pattern: /^(?:ApplicationFailure: )?WorkerShutdown|WORKER_SHUTDOWN/, kind: 'hand-back' },
  { pattern: /^StoreError/, kind: 'store-error' },
  { pattern: /^EnvironmentError/, kind: 'environment-error' },
];
const cancelled = /^(?:CancelledFailure|AbortError)/;

/** When the fault happened that ended an attempt: a silent process went silent before another attempt took over. */
function momentOf(kind: FaultKind, attempt: Attempt, lives: ReadonlyMap<string, Life>): number {
  if (kind === 'heartbeat-timeout') return attempt.generated?.at ?? attempt.start;
  return kind === 'worker-killed' ? lives.get(attempt.session)!.lastSign : attempt.end!;
}

/** The kind of fault that ended an attempt; null for one that runs or completed in time, or that was cancelled. */
function endingFault(attempt: Attempt, tasks: Tasks, lives: ReadonlyMap<string, Life>): FaultKind | null {
  const successor = othersOf(tasks, attempt).find((other) => other.attempt > attempt.attempt);
  const wasTakenOver = successor !== undefined && attempt.end !== null && successor.start < attempt.end;
  const life = lives.get(attempt.session)!;
  switch (attempt.outcome) {
    case 'running':
      return null;
    case 'completed':
      return wasTakenOver ? 'heartbeat-timeout' : null;
    case 'interrupted':
      if (life.ended === 'told') return 'hand-back';
      return life.ended === 'lost' || life.lastSign <= attempt.end! ? 'worker-killed' : 'heartbeat-timeout';
    case 'failed': {
      const error = attempt.error!;
      const known = errorPatterns.find(({ pattern }) => pattern.test(error));
      if (known !== undefined) return known.kind;
      if (!cancelled.test(error)) return 'activity-error';
      return successor === undefined ? null : 'heartbeat-timeout';
    }
  }
}

type Tasks = ReadonlyMap<string, Attempt[]>;

function groupByTask(attempts: readonly Attempt[]): Tasks {
  const tasks = new Map<string, Attempt[]>();
  for (const attempt of attempts) {
    if (attempt.task === null) continue;
    const own = tasks.get(attempt.task);
    if (own === undefined) tasks.set(attempt.task, [attempt]);
    else own.push(attempt);
  }
  return tasks;
}

function othersOf(tasks: Tasks, attempt: Attempt): Attempt[] {
  const own = attempt.task === null ? [] : (tasks.get(attempt.task) ?? []);
  return own.filter((other) => other !== attempt && isSameTask(attempt, other));
}

function costOf(fault: Fault, tasks: Tasks): Partial<Fault> {
  const cost = { lostTokens: 0, lostTrajectorySeconds: 0, lostUpdateSeconds: 0 };
  const firstTokens: number[] = [];
  for (const attempt of fault.attempts) {
    const { generated, pool, start, end } = attempt;
    const others = othersOf(tasks, attempt);
    firstTokens.push(...others.flatMap(({ firstToken }) => firstToken ?? []));
    // Of two attempts that both completed, the first to end holds.
    if (attempt.outcome === 'completed' && !others.some((other) => isHeldBefore(other, attempt))) continue;
    if (generated !== null) {
      const after = attempt.outcome === 'interrupted' ? (end! - generated.at) / 1000 : 0;
      cost.lostTokens += generated.unsavedTokens;
      cost.lostTrajectorySeconds += generated.unsavedTrajectorySeconds + generated.underWay * after;
    }
    if (attempt.activity === 'environmentStep') cost.lostTrajectorySeconds += (end! - start) / 1000;
    if (pool === 'train') cost.lostUpdateSeconds += (end! - start) / 1000;
  }
  const next = Math.min(...firstTokens.filter((at) => at >= fault.at));
  return { ...cost, recoverySeconds: Number.isFinite(next) ? (next - fault.at) / 1000 : null };
}

function isHeldBefore(other: Attempt, attempt: Attempt): boolean {
  return other.outcome === 'completed' && other.end! <= attempt.end!;
}

function totalsOf(events: readonly Fault[], attempts: readonly Attempt[], tasks: Tasks): FaultTotals {
  const sum = (cost: (fault: Fault) => number) => events.reduce((total, fault) => total + cost(fault), 0);
  const repeats = attempts.filter(
    (attempt) =>
      attempt.attempt > 1 ||
      othersOf(tasks, attempt).some(
        ({ start, end, outcome }) =>
          start < attempt.start && !(outcome === 'completed' && end! <= attempt.start),
      ),
  );
  return {
    faults: countBy(events, ({ kind }) => kind),
    lostTokens: sum(({ lostTokens }) => lostTokens),
    lostTrajectorySeconds: sum(({ lostTrajectorySeconds }) => lostTrajectorySeconds),
    lostUpdateSeconds: sum(({ lostUpdateSeconds }) => lostUpdateSeconds),
    recoverySeconds: events.flatMap(({ recoverySeconds }) => recoverySeconds ?? []),
    retries: countBy(repeats, ({ activity }) => activity),
  };
}

function countBy<T>(items: readonly T[], nameOf: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[nameOf(item)] = (counts[nameOf(item)] ?? 0) + 1;
  return counts;
}
