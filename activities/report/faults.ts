/** Faults that a run met and outlived, counted by kind. A run that met none says so. */
import type { LogEntry, Outcome } from '../../core/records.ts';
import type { JournalSummary } from '../../store/journal-summary.ts';
import { html, type Html } from './html.ts';

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

/** Faults that the processes' journals tell of: attempts cut off or repeated, processes started again. */
export function faultsInJournals({ interrupted, attempts, restarts, faults }: JournalSummary): FaultCount[] {
  const counts = new Map<string, FaultCount>();
  const add = (kind: string, meaning: string, count = 1): void => {
    counts.set(kind, { kind, meaning, count: (counts.get(kind)?.count ?? 0) + count });
  };
  for (const { activity } of interrupted) {
    add(
      `interrupted ${activity}`,
      'its process died at work; another attempt did it, and no result was lost or doubled',
    );
  }
  for (const { activity, outcome } of attempts) {
    if (outcome === 'failed') add(`failed ${activity}`, 'the attempt reported an error and was tried again');
  }
  for (const [process, count] of Object.entries(restarts)) {
    add(`restart of ${process}`, 'the process was started again and went on from the store', count);
  }
  for (const { kind, detail } of faults) add(kind, detail);
  return [...counts.values()];
}

export function renderFaults(faults: FaultCount[]): Html {
  if (faults.length === 0) return html`<p>None: no attempt was interrupted, retried or refused.</p>`;
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
