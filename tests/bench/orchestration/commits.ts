/** When each version of a run was committed, and when its engines worked: what the share of an iteration beyond them follows from. */
import { secondsCovered, type Interval } from '../../../store/intervals.ts';
import { summarizeJournals } from '../../../store/journal-summary.ts';
import { readJournals } from '../../../store/read-journal.ts';
import { runFolder } from '../../../store/run-folder.ts';

export interface IterationTime {
  seconds: number;
  /** In which no engine worked. */
  overheadSeconds: number;
}

/** From each commit of a finished run to the next. */
export async function iterationTimes(runsFolder: string, run: string): Promise<IterationTime[]> {
  const { lines } = await readJournals(runFolder(runsFolder, 'training', run).logs);
  const { attempts, engineCalls } = summarizeJournals(lines, true);
  const commits = attempts
    .filter(({ activity, outcome }) => activity === 'commitVersion' && outcome === 'completed')
    .map(({ end }) => end!)
    .sort((a, b) => a - b);
  return commits.slice(1).map((end, i) => {
    const start = commits[i]!;
    const seconds = (end - start) / 1000;
    return { seconds, overheadSeconds: seconds - secondsCovered(within(engineCalls, { start, end })) };
  });
}

function within(intervals: readonly Interval[], { start, end }: Interval): Interval[] {
  return intervals
    .map((one) => ({ start: Math.max(one.start, start), end: Math.min(one.end, end) }))
    .filter((one) => one.end > one.start);
}
