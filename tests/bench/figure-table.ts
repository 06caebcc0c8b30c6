/** The result of a benchmark for a person. */
import Table from 'cli-table3';
import { passes, type Bar, type BenchResult } from './bench-result.ts';

const rounded = (value: number): string => String(Number(value.toPrecision(4)));

/** A table of figures, each beside its bar; below it a line each on how it was measured. */
export function figureTable({ figures, bars = {}, details = {} }: BenchResult): string {
  const measured = Object.keys(details).length > 0;
  const range = measured ? ['lowest', 'highest'] : [];
  const barred = Object.keys(bars).length > 0 ? ['bar', ''] : [];
  const head = ['figure', 'value', ...range, ...barred];
  const rows = new Table({ head, style: { head: [], border: [] } });
  for (const [figure, value] of Object.entries(figures)) {
    const [bar, detail] = [bars[figure], details[figure]];
    const ends = measured
      ? [detail?.lowest, detail?.highest].map((end) => (end === undefined ? '' : rounded(end)))
      : [];
    rows.push([figure, rounded(value), ...ends, ...(bar ? shownBar(value, bar) : barred.map(() => ''))]);
  }
  const lines = Object.entries(details).map(([figure, { against, statistic, quantities }]) => {
    const listed = Object.entries(quantities).map(([name, value]) => `, ${name} ${rounded(value)}`);
    return `${figure}: ${against}; ${statistic}${listed.join('')}`;
  });
  return [rows.toString(), ...lines].join('\n');
}

function shownBar(value: number, bar: Bar): [bar: string, verdict: string] {
  const shown = 'atLeast' in bar ? `≥ ${bar.atLeast}` : `≤ ${bar.atMost}`;
  return [shown, passes(value, bar) ? 'pass' : 'miss'];
}
