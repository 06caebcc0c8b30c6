/**
 * Every scheduled task stands in exactly one committed iteration: the batches divide the cursor's path without gap or overlap,
 * and the trajectories of the iteration's log entry cover each task of its batch.
 */
import { prepareBatchResultSchema, type PrepareBatchResult } from '../core/contracts.ts';
import type { LogEntry } from '../core/records.ts';
import type { Store } from './store.ts';
import { readScheduling } from './read-scheduling.ts';
import { auditEpisodes } from './verify-episodes.ts';

export interface TasksAudit {
  counts: { scheduled: number; committed: number; skipped: number; duplicated: number };
  problems: string[];
}

export async function auditTasks(
  store: Store,
  run: string,
  entries: readonly LogEntry[],
  finished: boolean,
): Promise<TasksAudit> {
  const counts = { scheduled: 0, committed: 0, skipped: 0, duplicated: 0 };
  const { batches, problems } = await readBatches(store, run);
  const audit: TasksAudit = { counts, problems };
  const scheduling = await readScheduling(store, run, problems);
  const reinforcement = entries.filter(({ kind }) => kind === 'reinforcement');
  const lastCommitted = Math.max(0, ...reinforcement.map(({ iteration }) => iteration));

  auditCursor(batches, audit);
  for (const [iteration, batch] of batches) {
    counts.scheduled += batch.tasks;
    const commits = reinforcement.filter((entry) => entry.iteration === iteration);
    if (commits.length === 0) {
      if (!finished && iteration > lastCommitted) continue;
      counts.skipped += batch.tasks;
      problems.push(`iteration ${iteration}: its ${batch.tasks} tasks were scheduled, but never committed`);
    } else if (commits.length > 1) {
      counts.duplicated += batch.tasks;
      const versions = commits.map(({ version }) => version).join(' and ');
      problems.push(`iteration ${iteration}: its ${batch.tasks} tasks are committed in versions ${versions}`);
    } else {
      const episodes = await auditEpisodes(store, commits[0]!, batch, scheduling);
      counts.committed += episodes.committed;
      counts.skipped += episodes.skipped;
      counts.duplicated += episodes.duplicated;
      problems.push(...episodes.problems.map((problem) => `iteration ${iteration}: ${problem}`));
    }
  }
  for (const { version, iteration } of reinforcement) {
    if (!batches.has(iteration))
      problems.push(`version ${version}: no batch is recorded for iteration ${iteration}`);
  }
  return audit;
}

/** Batches by iteration, ascending. */
async function readBatches(
  store: Store,
  run: string,
): Promise<{ batches: Map<number, PrepareBatchResult>; problems: string[] }> {
  const batches = new Map<number, PrepareBatchResult>();
  const problems: string[] = [];
  for (const key of await store.listResults(run, 'iteration-')) {
    const match = /^iteration-(\d+)\/batch$/.exec(key);
    if (match === null) continue;
    try {
      const recorded = await store.findResult(run, key);
      batches.set(Number(match[1]), prepareBatchResultSchema.parse(recorded?.value));
    } catch (error) {
      problems.push(`the batch ${key} cannot be read: ${String(error)}`);
    }
  }
  return { batches, problems };
}

function auditCursor(batches: Map<number, PrepareBatchResult>, { counts, problems }: TasksAudit): void {
  let cursor = 0;
  for (const [iteration, { firstCursor, nextCursor, tasks }] of batches) {
    if (firstCursor > cursor) {
      counts.skipped += firstCursor - cursor;
      problems.push(`iteration ${iteration}: its batch starts at task ${firstCursor}, expected ${cursor}`);
    } else if (firstCursor < cursor) {
      counts.duplicated += cursor - firstCursor;
      problems.push(
        `iteration ${iteration}: its batch starts at task ${firstCursor}, which is before ${cursor}`,
      );
    }
    if (nextCursor - firstCursor !== tasks) {
      problems.push(
        `iteration ${iteration}: its batch of ${tasks} tasks goes from ${firstCursor} to ${nextCursor}`,
      );
    }
    cursor = nextCursor;
  }
}
