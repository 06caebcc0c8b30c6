/** What faults have cost a run so far, from its folder in this home. */
import { formatCount, formatSeconds } from '../activities/report/format.ts';
import { readFaultTotals } from '../activities/report/read-fault-account.ts';
import type { FaultTotals } from '../core/fault-totals.ts';
import { findRunFolder, readMeta } from '../store/run-folder.ts';
import { runsFolder } from './local-runs.ts';

/** Null when the run has no folder here. */
export async function localFaults(home: string, run: string): Promise<FaultTotals | null> {
  const folder = await findRunFolder(runsFolder(home), run);
  const meta = folder && (await readMeta(folder));
  if (!folder || !meta) return null;
  return readFaultTotals(folder.root, { start: meta.startedAt, end: meta.finishedAt });
}

/** One line; null when nothing happened. */
export function describeFaults(totals: FaultTotals): string | null {
  const { lostTokens, lostTrajectorySeconds, recoverySeconds } = totals;
  const kinds = Object.entries(totals.faults).map(([kind, count]) => `${count} × ${kind.replace('-', ' ')}`);
  if (kinds.length === 0) return null;
  const parts = [kinds.join(', ')];
  if (lostTokens > 0) {
    parts.push(`${formatCount(lostTokens)} tokens (${formatSeconds(lostTrajectorySeconds)}) sampled again`);
  }
  if (recoverySeconds.length > 0) {
    parts.push(`next token after at most ${formatSeconds(Math.max(...recoverySeconds))}`);
  }
  return parts.join('; ');
}
