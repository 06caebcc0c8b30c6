/**
 * An attempt of an activity in the run's journal: lines when it starts, at its first token, once a second while there are more,
 * and when it ends. So a process that is killed leaves word of what went with it, at most a second old.
 */
import { createHash } from 'node:crypto';
import type { Pool } from '../core/ids.ts';
import { SampledWork } from '../store/sampled-work.ts';
import type { RunJournals } from './run-journals.ts';

const interval = 1_000;

export interface AttemptRecord {
  work: SampledWork;
  end(error: string | null): void;
}

export interface AttemptPlace {
  /** Null for an activity that belongs to no run: nothing is written. */
  run: string | null;
  iteration: number | null;
  pool: Pool;
  activity: string;
  attempt: number;
  input: readonly unknown[];
}

export function recordAttempt(
  journals: Pick<RunJournals, 'write'>,
  { run, iteration, pool, activity, attempt, input }: AttemptPlace,
): AttemptRecord {
  if (run === null) return { work: new SampledWork(), end: () => undefined };
  const fields = {
    ...{ activity, task: taskOf(activity, input), iteration, attempt, pool },
    startedAt: new Date().toISOString(),
  };
  let nextLine = 0;
  let later: NodeJS.Timeout | undefined;
  const work = new SampledWork(() => {
    const now = Date.now();
    if (now >= nextLine) write();
    else later ??= setTimeout(write, nextLine - now);
  });
  const write = (): void => {
    later = undefined;
    const now = Date.now();
    nextLine = now + interval;
    journals.write(run, { event: 'generated', ...fields, at: at(now), ...work.generated(now) });
  };
  journals.write(run, { event: 'attempt-started', ...fields });
  return {
    work,
    end(error) {
      clearTimeout(later);
      const now = Date.now();
      const generated = work.generated(now);
      journals.write(run, {
        ...{ event: 'attempt-ended', ...fields, endedAt: at(now), error },
        ...(generated.tokens > 0 ? { generated } : {}),
      });
    },
  };
}

function at(moment: number): string {
  return new Date(moment).toISOString();
}

/** Sent to every engine, with one input: what one does is not another attempt at the other's work. */
const sentToMany = ['syncWeights'];

function taskOf(activity: string, input: readonly unknown[]): string | null {
  if (sentToMany.includes(activity)) return null;
  return createHash('sha256')
    .update(JSON.stringify([activity, input]))
    .digest('hex')
    .slice(0, 16);
}
