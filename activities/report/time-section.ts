/** The run's time: one bar of the whole, and each iteration as a row of bars on a shared scale. */
import type { Fault } from '../../store/fault-account.ts';
import { describeLoss } from './faults-section.ts';
import { formatSeconds } from './format.ts';
import { html, type Html } from './html.ts';
import {
  iterationTimelines,
  phases,
  secondsBetweenPhases,
  secondsByPhase,
  type Phase,
  type PhaseSpan,
} from './phases.ts';

/** Rows drawn at most; a longer run shows evenly spaced iterations. */
const rowLimit = 60;

function phaseClass(phase: Phase | 'between'): string {
  return phase === 'between' ? 'phase-between' : `phase-${phases.indexOf(phase)}`;
}

function renderShares(spans: PhaseSpan[]): Html {
  const parts: { name: string; className: string; seconds: number }[] = [
    ...secondsByPhase(spans).map(({ phase, seconds }) => ({
      name: phase,
      className: phaseClass(phase),
      seconds,
    })),
    { name: 'between phases', className: phaseClass('between'), seconds: secondsBetweenPhases(spans) },
  ];
  const total = parts.reduce((sum, { seconds }) => sum + seconds, 0);
  const percent = (seconds: number): string => ((100 * seconds) / Math.max(total, 1e-9)).toFixed(1);
  const bars = parts.map(
    ({ className, seconds, name }) =>
      html`<i
        class="${className}"
        style="width:${percent(seconds)}%"
        data-tip="${name}  ${formatSeconds(seconds)}"
      ></i>`,
  );
  const legend = parts.map(
    ({ name, className, seconds }) =>
      html`<li>
        <i class="${className}"></i>${name} <b>${formatSeconds(seconds)}</b>
        <span class="quiet">${percent(seconds)} %</span>
      </li>`,
  );
  return html`<div class="stack">${bars}</div>
    <ul class="legend">
      ${legend}
    </ul>`;
}

function evenlySpaced<T>(items: T[], limit: number): T[] {
  if (items.length <= limit) return items;
  return Array.from({ length: limit }, (_, i) => items[Math.floor((i * (items.length - 1)) / (limit - 1))]!);
}

function axisTicks(longest: number): number[] {
  const rough = longest / 6;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * magnitude).find((size) => size >= rough)!;
  return Array.from({ length: Math.floor(longest / step) + 1 }, (_, i) => i * step);
}

/** A mark where a fault fell into an iteration's row. */
function renderMark(fault: Fault, x: number, y: number): Html {
  const loss = describeLoss([fault]);
  return html`<path class="fault-mark" d="M${x.toFixed(1)} ${y + 1}l4 6l-4 6l-4 -6z"
    ><title>${fault.kind} (${fault.process})${loss === '' ? '' : `: ${loss} done again`}</title></path
  >`;
}

function renderIterations(spans: PhaseSpan[], faults: readonly Fault[]): Html {
  const timelines = evenlySpaced(iterationTimelines(spans), rowLimit);
  if (timelines.length === 0) return html``;
  const longest = Math.max(1e-3, ...timelines.flatMap(({ bars }) => bars.map(({ end }) => end)));
  const [left, right, rowHeight] = [56, 24, 16];
  const width = 1000 - left - right;
  const height = timelines.length * rowHeight;
  const xOf = (seconds: number): number => left + (width * seconds) / longest;
  const grid = axisTicks(longest).map(
    (tick) =>
      html`<line
          class="grid"
          x1="${xOf(tick).toFixed(1)}"
          x2="${xOf(tick).toFixed(1)}"
          y1="0"
          y2="${height}"
        /><text x="${xOf(tick).toFixed(1)}" y="${height + 16}" text-anchor="middle"
          >${Number(tick.toPrecision(6))}</text
        >`,
  );
  const rows = timelines.map(({ iteration, origin, bars }, row) => {
    const y = row * rowHeight;
    const labelled = timelines.length <= 30 || row % 5 === 0;
    const label = labelled
      ? html`<text x="${left - 8}" y="${y + 12}" text-anchor="end">${iteration}</text>`
      : html``;
    const rects = bars.map(
      ({ phase, start, end }) =>
        html`<rect
          class="${phaseClass(phase)}"
          x="${xOf(start).toFixed(1)}"
          y="${y + 3}"
          width="${Math.max(0.8, xOf(end) - xOf(start)).toFixed(1)}"
          height="${rowHeight - 5}"
          ><title>iteration ${iteration}, ${phase}: ${formatSeconds(end - start)}</title></rect
        >`,
    );
    const end = Math.max(...bars.map((bar) => bar.end));
    const marks = faults
      .map((fault) => ({ fault, seconds: (fault.at - origin) / 1000 }))
      .filter(({ seconds }) => seconds >= 0 && seconds <= end)
      .map(({ fault, seconds }) => renderMark(fault, xOf(seconds), y));
    return html`${label}${rects}${marks}`;
  });
  return html`<h3>Each iteration</h3>
    <svg class="timeline" viewBox="0 0 1000 ${height + 40}" role="img" aria-label="Phases of each iteration">
      ${grid}${rows}
      <text x="${left + width / 2}" y="${height + 36}" text-anchor="middle">
        seconds since the iteration began${faults.length === 0 ? '' : '; a diamond marks a fault'}
      </text>
      <text transform="translate(12 ${height / 2}) rotate(-90)" text-anchor="middle">iteration</text>
    </svg>`;
}

/** Renders both views, with marks for faults; says so when nothing was recorded. */
export function renderTime(spans: PhaseSpan[], faults: readonly Fault[]): Html {
  if (spans.length === 0) return html`<p class="quiet">No phase has been recorded yet.</p>`;
  return html`${renderShares(spans)}${renderIterations(spans, faults)}`;
}
