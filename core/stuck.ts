/**
 * Why a run does not go on: told from what Temporal knows of its pending work, in words that say what to do next. Pure, and free
 * of schemas, so that workflows can use the types.
 */
import { explainFailure, type Failure } from './failure-causes.ts';
import { taskQueues } from './ids.ts';

/** Something that keeps a run from going on. */
export interface Stuck {
  what: string;
  why: string;
  /** ISO 8601. */
  since: string;
  hint: string;
}

/** An activity that was scheduled and has not ended. Moments are milliseconds since the Unix epoch; null where there is none. */
export interface PendingActivity {
  activity: string;
  queue: string;
  started: boolean;
  attempt: number;
  scheduledAt: number;
  startedAt: number | null;
  /** Of the next attempt, while it waits after a failure. */
  nextAttemptAt: number | null;
  lastSign: number | null;
  failure: Failure | null;
  worker: string;
}

/** A workflow whose next step waits for a control worker. */
export interface PendingStep {
  workflow: string;
  scheduledAt: number;
  attempt: number;
}

export interface PendingWork {
  activities: PendingActivity[];
  steps: PendingStep[];
  /** When a worker last asked a queue for work, of the queues above; null for never, in the server's memory. */
  lastPolls: Record<string, number | null>;
}

/** Seconds after which something counts as stuck. */
const patience = { queue: 5, busy: 60, silence: 30, step: 10 };
/** A worker without work asks again every minute. */
const pollSeconds = 75;
/** Times the usual seconds of an activity, and at least so many, after which it runs long. */
const long = { factor: 3, atLeast: 60 };

/**
 * What is stuck at `now`, what blocks most first. `usual` are seconds that an activity has taken before in this run, where
 * known; `progress` says how far the current phase is.
 */
export function whatIsStuck(
  { activities, steps, lastPolls }: PendingWork,
  now: number,
  { usual = {}, progress = null }: { usual?: Record<string, number>; progress?: string | null } = {},
): Stuck[] {
  const isPolled = (queue: string): boolean => {
    const last = lastPolls[queue] ?? null;
    return last !== null && now - last < pollSeconds * 1000;
  };
  const seconds = (from: number): number => (now - from) / 1000;
  const findings = [
    ...steps.map((step) => explainStep(step, isPolled(taskQueues.control), seconds(step.scheduledAt))),
    ...activities.map((one): Finding | null => {
      if (!one.started) {
        const isServed =
          isPolled(one.queue) || activities.some(({ started, queue }) => started && queue === one.queue);
        return explainWaiting(one, isServed, seconds(one.scheduledAt));
      }
      return explainRunning(one, seconds, usual[one.activity], progress) ?? explainFailures(one);
    }),
  ];
  return summarize(findings.filter((finding) => finding !== null));
}

interface Finding {
  rank: number;
  what: string;
  why: string;
  since: number;
  hint: string;
}

function explainStep(
  { workflow, scheduledAt, attempt }: PendingStep,
  polled: boolean,
  seconds: number,
): Finding | null {
  if (seconds < patience.step && attempt < 3) return null;
  const what = `workflow ${workflow}`;
  const since = scheduledAt;
  if (!polled)
    return {
      rank: 0,
      what,
      since,
      why: `no worker polls ${taskQueues.control}`,
      hint: startWorker('control'),
    };
  if (attempt < 3) return null;
  return {
    ...{ rank: 1, what, since },
    why: `its next step has failed ${attempt - 1} times`,
    hint: 'Its history may have been begun by another version of Rekindle: see the output of the control worker, and "Upgrades" in docs/operations.md.',
  };
}

function explainWaiting(one: PendingActivity, isServed: boolean, seconds: number): Finding | null {
  const { activity: what, queue, scheduledAt: since, nextAttemptAt } = one;
  const waitsForItsTime = nextAttemptAt !== null;
  if (!isServed && seconds > patience.queue && !(waitsForItsTime && one.failure !== null)) {
    return { rank: 0, what, since, why: `no worker polls ${queue}`, hint: hintForQueue(queue) };
  }
  const failures = explainFailures(one);
  if (failures !== null) return failures;
  if (seconds < patience.busy) return null;
  return {
    ...{ rank: 4, what, since, why: `waits in ${queue}: its workers are busy with other work` },
    hint: 'Nothing is wrong if other runs are going on; more workers of this pool would take it sooner.',
  };
}

function explainFailures({
  activity: what,
  attempt,
  failure,
  scheduledAt: since,
}: PendingActivity): Finding | null {
  if (failure === null || attempt < 2) return null;
  const count = attempt === 2 ? 'an attempt' : `${attempt - 1} attempts`;
  const { cause, hint } = explainFailure(failure);
  return { rank: 2, what, since, why: `${count} failed, the last one with ${cause}`, hint };
}

function explainRunning(
  { activity: what, startedAt, lastSign, worker, queue }: PendingActivity,
  seconds: (from: number) => number,
  usual: number | undefined,
  progress: string | null,
): Finding | null {
  if (startedAt === null) return null;
  const silent = lastSign ?? startedAt;
  if (seconds(silent) > patience.silence) {
    return {
      ...{
        rank: 1,
        what,
        since: silent,
        why: `its worker ${worker} has been silent for ${whole(seconds(silent))}`,
      },
      hint: `It is given to another worker when its heartbeat times out; see that host and ${queue}.`,
    };
  }
  const running = seconds(startedAt);
  if (usual === undefined || running < Math.max(long.atLeast, long.factor * usual)) return null;
  const where = progress === null ? '' : `, ${progress}`;
  return {
    ...{
      rank: 3,
      what,
      since: startedAt,
      why: `runs for ${whole(running)}, usually ${whole(usual)}${where}`,
    },
    hint: `Worker ${worker} still answers: see the load of its host.`,
  };
}

function whole(seconds: number): string {
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

function startWorker(pool: string): string {
  return `Start one: rekindle up --pools ${pool}`;
}

/** A host's own queue is named after its pool's. */
function hintForQueue(queue: string): string {
  const [pool, shared] = Object.entries(taskQueues).find(
    ([, name]) => queue === name || queue.startsWith(`${name}-`),
  ) ?? ['', ''];
  if (queue === shared) return startWorker(pool);
  return `The host of this queue is gone: its work goes to another worker of ${shared || 'the pool'} when its waiting time is over.`;
}

/** One line for what is stuck alike, what blocks most first, and then what has been for longest. */
function summarize(findings: Finding[]): Stuck[] {
  const alike = new Map<string, Finding[]>();
  for (const finding of findings) {
    const kind = finding.why.replaceAll(/\d+/g, '#');
    const name = finding.rank === 0 ? finding.why : `${finding.what}: ${kind}`;
    alike.set(name, [...(alike.get(name) ?? []), finding]);
  }
  return [...alike.values()]
    .map((group) => {
      const oldest = group.reduce((a, b) => (b.since < a.since ? b : a));
      const names = [...new Set(group.map(({ what }) => what))].slice(0, 3).join(', ');
      return { ...oldest, what: group.length === 1 ? names : `${names} (${group.length})` };
    })
    .sort((a, b) => a.rank - b.rank || a.since - b.since)
    .map(({ what, why, since, hint }) => ({ what, why, since: new Date(since).toISOString(), hint }));
}

/** One line, as status and Web UI show it. */
export function stuckLine({ what, why, hint }: Stuck): string {
  return `${what}: ${why}. ${hint}`;
}
