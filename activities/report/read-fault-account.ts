/** The account of a run's faults from what lies on disk: its journals, and the journal of this home's supervisor. */
import path from 'node:path';
import { faultTotalsSchema, type FaultTotals } from '../../core/fault-totals.ts';
import { faultAccount, type FaultAccount } from '../../store/fault-account.ts';
import type { JournalLine } from '../../store/journal-events.ts';
import { readJournals } from '../../store/read-journal.ts';
import type { ProcessDeath } from '../../store/process-lives.ts';
import { readDeaths, supervisorJournalOf } from './supervisor-history.ts';

export interface RunTime {
  /** ISO 8601. */
  start: string;
  /** Null while the run goes on. */
  end: string | null;
}

/** `runFolder` is `<home>/runs/<kind>/<run>`. */
export async function readFaults(
  runFolder: string,
  time: RunTime,
): Promise<{ lines: JournalLine[]; deaths: ProcessDeath[]; account: FaultAccount }> {
  const { lines } = await readJournals(path.join(runFolder, 'logs'));
  const deaths = await readDeaths(supervisorJournalOf(runFolder), time);
  return { lines, deaths, account: faultAccount(lines, deaths) };
}

/** Counts and sums alone, as `meta.json` holds them. */
export async function readFaultTotals(runFolder: string, time: RunTime): Promise<FaultTotals> {
  const { events: _, ...totals } = (await readFaults(runFolder, time)).account;
  return faultTotalsSchema.parse(totals);
}
