/**
 * The lives of the processes that worked for a run. Several processes may have one name (two workers of a host), so a process
 * counts as dead only by evidence: its next life found it gone, or its supervisor saw it end.
 */
import type { JournalEvent, JournalLine } from './journal-events.ts';

/** A process that ended though nobody stopped it, as its supervisor saw it. */
export interface ProcessDeath {
  /** The supervisor's name of it, such as `temporal` or `worker-rollout+train`. */
  process: string;
  pid: number | null;
  /** Milliseconds since the Unix epoch. */
  at: number;
  /** A signal's name, `exit code 1`, or the reason why it could not be started. */
  how: string;
}

export interface Life {
  session: string;
  process: string;
  pid: number;
  /** Milliseconds since the Unix epoch: of its first line, and of its last sign of life. */
  start: number;
  lastSign: number;
  ended: 'told' | 'lost' | null;
  /** When it ended: by its supervisor, or by its last sign of life. Null while it goes on, as far as is known. */
  end: number | null;
  /** How it ended, where a supervisor saw it. */
  how: string | null;
}

/** By session, in the order of their first lines. */
export function livesOf(
  lines: readonly JournalLine[],
  deaths: readonly ProcessDeath[] = [],
): Map<string, Life> {
  const lives = new Map<string, Life>();
  for (const { session, process, pid, event } of lines) {
    const at = lastMoment(event);
    const life = lives.get(session);
    if (life === undefined) {
      lives.set(session, {
        ...{ session, process, pid, start: firstMoment(event), lastSign: at },
        ...{ ended: null, end: null, how: null },
      });
    } else {
      life.lastSign = Math.max(life.lastSign, at);
    }
  }
  for (const { session, event } of lines) {
    if (event.event === 'process-ended') lives.get(session)!.ended = 'told';
    if (event.event === 'process-lost') markLost(lives.get(event.session));
  }
  for (const { pid, at, how } of deaths) {
    const life = [...lives.values()].findLast((one) => one.pid === pid && one.start <= at);
    // A number may be given to another process later, which then has signs of life after this death.
    if (life === undefined || life.lastSign > at + clockSlack) continue;
    markLost(life);
    Object.assign(life, { how, lastSign: Math.max(life.lastSign, at) });
  }
  for (const life of lives.values()) life.end = life.ended === null ? null : life.lastSign;
  return lives;
}

/** Milliseconds by which a line may be written after the death was noted, since two processes keep the two journals. */
const clockSlack = 100;

function markLost(life: Life | undefined): void {
  if (life !== undefined) life.ended ??= 'lost';
}

export function lastMoment(event: JournalEvent): number {
  if ('endedAt' in event) return Date.parse(event.endedAt);
  return Date.parse('at' in event ? event.at : event.startedAt);
}

function firstMoment(event: JournalEvent): number {
  return Date.parse('startedAt' in event ? event.startedAt : event.at);
}
