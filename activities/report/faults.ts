/** Faults that a run met and outlived, counted by kind. A run that met none says so. */
import { hostname } from 'node:os';
import type { LogEntry, Outcome } from '../../core/records.ts';
import type { Attempt, JournalSummary } from '../../store/journal-summary.ts';
import { html, type Html } from './html.ts';
import type { SupervisorHistory } from './supervisor-history.ts';

export interface FaultCount {
  kind: string;
  count: number;
  /** What it means and why it cost nothing, for a reader who does not know the machinery. */
  meaning: string;
}

const infrastructureOutcomes: Partial<Record<Outcome, string>> = {
  'infra-failed': 'episodes ended by an infrastructure fault; never trained on, never a zero reward',
  dropped: 'episodes left out, each with a recorded reason',
};

/** Faults that the commit log itself tells of: refused updates and episodes without a usable outcome. */
export function faultsInLog(entries: LogEntry[]): FaultCount[] {
  const refused = entries.filter(({ update }) => update === 'refused').length;
  const faults: FaultCount[] = [
    {
      kind: 'refused update',
      count: refused,
      meaning: 'loss or gradient was not finite; the policy stayed as it was',
    },
  ];
  for (const [outcome, meaning] of Object.entries(infrastructureOutcomes)) {
    const count = entries.reduce((sum, entry) => sum + (entry.outcomes[outcome as Outcome] ?? 0), 0);
    faults.push({ kind: `${outcome} episode`, count, meaning });
  }
  return faults.filter(({ count }) => count > 0);
}

/** How an attempt that the engine's death cut off tells of it, in gpu/embedded/engine-child.ts. */
const engineDeath = /engine process exited \(([^)]*)\)/;
/** Milliseconds within which attempts of one process that failed so tell of the same death. */
const sameDeath = 1000;

/**
 * Faults that the journals tell of: attempts cut off or repeated, processes and engines that died. A process that the
 * supervisor keeps alive counts by the supervisor's journal, which tells a death from a stop; any other by its restarts.
 */
export function faultsInJournals(summary: JournalSummary, supervisor: SupervisorHistory): FaultCount[] {
  const counts = new Map<string, FaultCount>();
  const add = (kind: string, meaning: string, count = 1): void => {
    counts.set(kind, { kind, meaning, count: (counts.get(kind)?.count ?? 0) + count });
  };
  for (const { process, how } of supervisor.deaths) {
    if (process === 'temporal') {
      add(`death of the Temporal server (${how})`, 'it was started again on its database; open runs went on');
    } else {
      add(`death of ${process} (${how})`, 'it was started again and went on from the store');
    }
  }
  for (const [process, count] of Object.entries(summary.restarts)) {
    if (isSupervised(process, supervisor)) continue;
    add(`restart of ${process}`, 'the process was started again and went on from the store', count);
  }
  const byEngine = summary.attempts.filter(({ error }) => engineDeath.test(error ?? ''));
  for (const how of engineDeaths(byEngine)) {
    add(`death of an engine (${how})`, 'another was started with the same weights; its calls were repeated');
  }
  for (const { activity } of summary.interrupted) {
    add(
      `interrupted ${activity}`,
      'its process died at work; another attempt did it, and no result was lost or doubled',
    );
  }
  for (const attempt of summary.attempts) {
    if (attempt.outcome !== 'failed' || byEngine.includes(attempt)) continue;
    add(`failed ${attempt.activity}`, 'the attempt reported an error and was tried again');
  }
  for (const { kind, detail } of summary.faults) add(kind, detail);
  return [...counts.values()];
}

/** Workers write their journals under `<pools>@<host>`; a supervisor calls those of its host `worker-<pools>`. */
function isSupervised(process: string, { processes }: SupervisorHistory): boolean {
  const [pools, host] = process.split('@');
  return host === hostname() && processes.has(`worker-${pools}`);
}

function engineDeaths(attempts: readonly Attempt[]): string[] {
  const lastEnd = new Map<string, number>();
  return attempts
    .toSorted((a, b) => a.end! - b.end!)
    .flatMap(({ process, end, error }) => {
      const isNew = end! - (lastEnd.get(process) ?? -Infinity) > sameDeath;
      lastEnd.set(process, end!);
      return isNew ? [engineDeath.exec(error!)![1]!] : [];
    });
}

export function renderFaults(faults: FaultCount[]): Html {
  if (faults.length === 0)
    return html`<p>None: nothing died, and no attempt was interrupted, repeated or refused.</p>`;
  const rows = faults.map(
    ({ kind, count, meaning }) =>
      html`<tr>
        <th scope="row">${kind}</th>
        <td class="number">${count}</td>
        <td>${meaning}</td>
      </tr>`,
  );
  return html`<table>
    <thead>
      <tr>
        <th>kind</th>
        <th class="number">count</th>
        <th>what it means</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}
