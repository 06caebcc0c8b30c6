/** The answer first: did it learn, how long did it take, what came out. */
import type { Meta } from '../../core/records.ts';
import { formatAccuracy, formatSeconds } from './format.ts';
import { html, type Html } from './html.ts';

function fact(label: string, value: Html | string, note = ''): Html {
  return html`<div class="fact">
    <dt>${label}</dt>
    <dd>${value}</dd>
    <p>${note}</p>
  </div>`;
}

function accuracyNote({ before, after }: Meta['evaluation']): string {
  if (before === null || after === null) return '';
  const points = ((after - before) * 100).toFixed(1);
  return `${points.startsWith('-') ? points.replace('-', '−') : `+${points}`} points, greedy decoding`;
}

export function renderHeader(meta: Meta): Html {
  const { before, after } = meta.evaluation;
  const accuracy = html`${formatAccuracy(before)} <span class="arrow">→</span> ${formatAccuracy(after)}`;
  const reason = meta.reason ? html`<p class="reason">${meta.reason}</p>` : html``;
  const origin = meta.from
    ? html`<p>Forked from version ${meta.from.version} of run ${meta.from.run}.</p>`
    : html``;
  const refused = meta.refusedUpdates
    ? html`<p>${meta.refusedUpdates} updates were refused for a NaN or infinite number.</p>`
    : html``;
  return html`<header>
    <p class="eyebrow">Rekindle run report</p>
    <h1>${meta.runId} <span class="status status-${meta.status}">${meta.status}</span></h1>
    ${reason} ${origin} ${refused}
    <dl class="facts">
      ${fact('Held-out accuracy', accuracy, accuracyNote(meta.evaluation))}
      ${fact('Wall time', formatSeconds(meta.wallSeconds), `began ${meta.startedAt.slice(0, 16).replace('T', ' ')} UTC`)}
      ${fact('Policy version', String(meta.policyVersion), 'committed updates')}
      ${fact('Recipe', meta.recipe)}
    </dl>
  </header>`;
}
