/** Faults that a run met and outlived: counted by kind with what they cost, and each with its moment. A run that met none says so. */
import { faultKinds, type FaultKind } from '../../core/fault-kinds.ts';
import type { LogEntry, Outcome } from '../../core/records.ts';
import type { Fault, FaultAccount } from '../../store/fault-account.ts';
import { formatCount, formatSeconds } from './format.ts';
import { html, type Html } from './html.ts';

interface FaultRow {
  kind: string;
  count: number;
  lost: string;
  recovery: string;
  /** What it means and why it cost nothing, for a reader who does not know the machinery. */
  meaning: string;
}

const infrastructureOutcomes: Partial<Record<Outcome, string>> = {
  'infra-failed': 'episodes ended by an infrastructure fault; never trained on, never a zero reward',
  dropped: 'episodes left out, each with a recorded reason',
};

/** Faults that the commit log itself tells of: refused updates and episodes without a usable outcome. */
function rowsOfLog(entries: readonly LogEntry[]): FaultRow[] {
  const row = (kind: string, count: number, meaning: string): FaultRow => ({
    ...{ kind, count, meaning, lost: '', recovery: '' },
  });
  const refused = entries.filter(({ update }) => update === 'refused').length;
  const sum = (outcome: Outcome): number =>
    entries.reduce((total, { outcomes }) => total + (outcomes[outcome] ?? 0), 0);
  return [
    row('refused update', refused, 'loss or gradient was not finite; the policy stayed as it was'),
    ...Object.entries(infrastructureOutcomes).map(([outcome, meaning]) =>
      row(`${outcome} episode`, sum(outcome as Outcome), meaning),
    ),
  ].filter(({ count }) => count > 0);
}

function rowsOfAccount(events: readonly Fault[]): FaultRow[] {
  return Object.entries(faultKinds).flatMap(([kind, meaning]) => {
    const own = events.filter((fault) => fault.kind === (kind as FaultKind));
    if (own.length === 0) return [];
    const recoveries = own.flatMap(({ recoverySeconds }) => recoverySeconds ?? []);
    const recovery = recoveries.length === 0 ? '' : formatSeconds(Math.max(...recoveries));
    return [{ kind: nameOf(kind), count: own.length, lost: describeLoss(own), recovery, meaning }];
  });
}

function nameOf(kind: string): string {
  return kind.replace('-', ' ');
}

/** Work that had to be done again, in words; empty when there was none. */
export function describeLoss(faults: readonly Fault[]): string {
  const sum = (cost: (fault: Fault) => number): number =>
    faults.reduce((total, fault) => total + cost(fault), 0);
  const [tokens, seconds, update] = [
    sum(({ lostTokens }) => lostTokens),
    sum(({ lostTrajectorySeconds }) => lostTrajectorySeconds),
    sum(({ lostUpdateSeconds }) => lostUpdateSeconds),
  ];
  const parts: string[] = [];
  if (tokens > 0) parts.push(`${formatCount(tokens)} tokens`);
  if (seconds > 0) parts.push(`${formatSeconds(seconds)} of trajectories`);
  if (update > 0) parts.push(`${formatSeconds(update)} of an update`);
  return parts.join(', ');
}

/** Faults told one by one at most; all are counted. */
const eventLimit = 100;

export function renderFaults(account: FaultAccount, entries: readonly LogEntry[]): Html {
  const rows = [...rowsOfLog(entries), ...rowsOfAccount(account.events)];
  if (rows.length === 0)
    return html`<p>None: nothing died, and no attempt was interrupted, repeated or refused.</p>`;
  const counts = rows.map(
    ({ kind, count, lost, recovery, meaning }) =>
      html`<tr>
        <th scope="row">${kind}</th>
        <td class="number">${count}</td>
        <td>${lost}</td>
        <td class="number">${recovery}</td>
        <td>${meaning}</td>
      </tr>`,
  );
  const retries = Object.entries(account.retries).map(([activity, count]) => `${activity} ${count}`);
  return html`<div class="scroll">
      <table>
        <thead>
          <tr>
            <th>kind</th>
            <th class="number">count</th>
            <th>done again</th>
            <th class="number">next token after, at most</th>
            <th>what it means</th>
          </tr>
        </thead>
        <tbody>
          ${counts}
        </tbody>
      </table>
    </div>
    ${retries.length === 0 ? html`` : html`<p>Repeated attempts: ${retries.join(', ')}.</p>`}
    ${renderEvents(account.events)}`;
}

function renderEvents(events: readonly Fault[]): Html {
  if (events.length === 0) return html``;
  const rows = events.slice(0, eventLimit).map(
    (fault) =>
      html`<tr>
        <td>${new Date(fault.at).toISOString().slice(0, 19).replace('T', ' ')}</td>
        <td>${nameOf(fault.kind)}</td>
        <td>${fault.process}</td>
        <td>${fault.detail}</td>
        <td>${describeLoss([fault])}</td>
        <td class="number">${fault.recoverySeconds === null ? '' : formatSeconds(fault.recoverySeconds)}</td>
      </tr>`,
  );
  const left = events.length > eventLimit ? `, the first ${eventLimit} of ${events.length}` : '';
  return html`<details>
    <summary>Each fault${left}</summary>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>when (UTC)</th>
            <th>kind</th>
            <th>process</th>
            <th>what was seen</th>
            <th>done again</th>
            <th class="number">next token after</th>
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>
  </details>`;
}
