/**
 * The trajectories, outcomes and rows of one committed iteration against the batch that it was scheduled with, and the age of every
 * token against what its mode of scheduling allows. What was dropped for its age is judged anew.
 */
import type { PrepareBatchResult } from '../core/contracts.ts';
import {
  rowSchema,
  taskSchema,
  trajectorySchema,
  type LogEntry,
  type Row,
  type Task,
  type Trajectory,
} from '../core/records.ts';
import { isLearnable } from '../core/rows.ts';
import type { Scheduling } from '../core/scheduling.ts';
import { judgeStaleness, placeOf, type Judged } from '../core/staleness.ts';
import { getJsonl } from './jsonl.ts';
import { agesByLog } from './judge-staleness.ts';
import type { Store } from './store.ts';
import { ageProblems, offenders } from './verify-ages.ts';

export interface EpisodesAudit {
  /** Tasks of the batch. */
  committed: number;
  skipped: number;
  duplicated: number;
  problems: string[];
}

/** When an artifact cannot be read, its tasks are in none of the counts: nothing is known of them. */
export async function auditEpisodes(
  store: Store,
  entry: LogEntry,
  batch: PrepareBatchResult,
  scheduling: Scheduling,
): Promise<EpisodesAudit> {
  const nothingKnown = { committed: 0, skipped: 0, duplicated: 0 };
  if (entry.batch?.hash !== batch.batch.hash) {
    const problem = `it committed the batch ${entry.batch?.hash ?? 'null'}, but ${batch.batch.hash} was scheduled`;
    return { ...nothingKnown, skipped: batch.tasks, problems: [problem] };
  }
  try {
    const tasks = await getJsonl(store, batch.batch, taskSchema);
    const trajectories: Trajectory[] = [];
    for (const ref of entry.trajectories)
      trajectories.push(...(await getJsonl(store, ref, trajectorySchema)));
    const samplesG = samplesByGroup(trajectories);
    const ages = await agesByLog(store, entry.run, entry.version - 1, trajectories);
    const judged = judgeStaleness(trajectories, ages, scheduling);
    const problems = [
      ...(tasks.length === batch.tasks
        ? []
        : [`its batch holds ${tasks.length} tasks, expected ${batch.tasks}`]),
      ...trajectoryProblems(entry, tasks, trajectories),
      ...ageProblems(trajectories, ages, scheduling),
      ...coverageProblems(tasks, samplesG),
      ...outcomeProblems(entry, judged.trajectories),
      ...(await rowProblems(store, entry, judged)),
    ];
    return { ...countTasks(tasks, samplesG), problems };
  } catch (error) {
    return { ...nothingKnown, problems: [`its episodes cannot be read: ${String(error)}`] };
  }
}

/** For each group, how many trajectories each of its samples has. */
function samplesByGroup(trajectories: readonly Trajectory[]): Map<number, Map<number, number>> {
  const groups = new Map<number, Map<number, number>>();
  for (const { group, sample } of trajectories) {
    const samples = groups.get(group) ?? new Map<number, number>();
    groups.set(group, samples.set(sample, (samples.get(sample) ?? 0) + 1));
  }
  return groups;
}

function countTasks(
  tasks: readonly Task[],
  samplesG: Map<number, Map<number, number>>,
): Omit<EpisodesAudit, 'problems'> {
  const counts = { committed: 0, skipped: 0, duplicated: 0 };
  for (const group of tasks.keys()) {
    const samples = samplesG.get(group);
    if (samples === undefined) counts.skipped += 1;
    else if ([...samples.values()].some((times) => times > 1)) counts.duplicated += 1;
    else counts.committed += 1;
  }
  return counts;
}

function trajectoryProblems(
  entry: LogEntry,
  tasks: readonly Task[],
  trajectories: readonly Trajectory[],
): string[] {
  return [
    ...offenders(
      trajectories,
      `are not of iteration ${entry.iteration}`,
      ({ iteration }) => iteration !== entry.iteration,
    ),
    ...offenders(
      trajectories,
      `are of a task that is not the batch's`,
      ({ group, taskId }) => tasks[group]?.id !== taskId,
    ),
    ...offenders(trajectories, `were sampled by version ${entry.version} or later`, ({ turns }) =>
      turns.some(({ spans }) => spans.some(({ version }) => version >= entry.version)),
    ),
  ];
}

/** Each group has the samples 0..n-1 once, with the same n for all groups. */
function coverageProblems(tasks: readonly Task[], samplesG: Map<number, Map<number, number>>): string[] {
  const problems: string[] = [];
  const groupSize = Math.max(0, ...[...samplesG.values()].flatMap((samples) => [...samples.keys()])) + 1;
  for (const [group, task] of tasks.entries()) {
    const samples = samplesG.get(group) ?? new Map<number, number>();
    for (let sample = 0; sample < groupSize; sample++) {
      const times = samples.get(sample) ?? 0;
      if (times === 1) continue;
      problems.push(
        `task ${task.id} (group ${group}), sample ${sample}: ${times} trajectories, expected one`,
      );
    }
  }
  return problems;
}

function outcomeProblems(entry: LogEntry, trajectories: readonly Trajectory[]): string[] {
  const counted: LogEntry['outcomes'] = {};
  for (const { outcome } of trajectories) counted[outcome] = (counted[outcome] ?? 0) + 1;
  const kinds = new Set([...Object.keys(counted), ...Object.keys(entry.outcomes)]) as Set<
    Trajectory['outcome']
  >;
  return [...kinds].flatMap((kind) => {
    const [said, found] = [entry.outcomes[kind] ?? 0, counted[kind] ?? 0];
    return said === found
      ? []
      : [`the log tells of ${said} episodes "${kind}", its trajectories of ${found}`];
  });
}

async function rowProblems(store: Store, entry: LogEntry, judged: Judged): Promise<string[]> {
  if (entry.rows === null) return [];
  const rows = await getJsonl(store, entry.rows, rowSchema);
  const learned = new Set(judged.trajectories.filter(({ outcome }) => isLearnable(outcome)).map(placeOf));
  const strangers = rows.filter((row) => !learned.has(placeOf(row)));
  const unweighted = rows.filter((row) => judged.corrected.has(placeOf(row)) !== (row.overStale ?? false));
  return [
    ...rowProblem(strangers, 'are of no trajectory that may be learned from'),
    ...rowProblem(unweighted, 'are weighted by importance and not over-stale, or the other way round'),
  ];
}

function rowProblem(rows: readonly Row[], complaint: string): string[] {
  if (rows.length === 0) return [];
  const { group, sample } = rows[0]!;
  return [`${rows.length} rows ${complaint}, the first of group ${group}, sample ${sample}`];
}
