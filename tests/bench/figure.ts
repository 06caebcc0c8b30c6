/** Figures: numbers that a benchmark gives, each with how it was measured. */
import type { Bar, BenchResult, FigureDetail } from './bench-result.ts';
import { median } from './statistics.ts';

export interface Figure extends FigureDetail {
  name: string;
  value: number;
}

/** A part of a benchmark that can be run alone. */
export interface Measurement {
  name: string;
  /** The figures that it gives. */
  figures: string[];
  /** @param folder For files; removed afterwards. */
  measure: (folder: string) => Promise<Figure[]>;
}

/** A figure whose value is the median of its rounds. */
export function medianFigure(
  name: string,
  values: readonly number[],
  against: string,
  quantities: Record<string, number> = {},
): Figure {
  return {
    name,
    value: median(values),
    against,
    statistic: `median of ${values.length}`,
    lowest: Math.min(...values),
    highest: Math.max(...values),
    quantities,
  };
}

/** A figure that is measured once. */
export function singleFigure(
  name: string,
  value: number,
  against: string,
  quantities: Record<string, number> = {},
): Figure {
  return { name, value, against, statistic: 'one run', lowest: value, highest: value, quantities };
}

/**
 * Makes the measurements that give the figures of `only` (all when empty), one after the other. Of several values of one figure
 * (on two models, say) the one further from passing counts.
 * @param onProgress Told of each measurement as it begins.
 */
export async function collectFigures(
  { measurements, bars }: { measurements: readonly Measurement[]; bars: Readonly<Record<string, Bar>> },
  only: readonly string[],
  measure: (measurement: Measurement) => Promise<Figure[]>,
  onProgress: (line: string) => void,
): Promise<BenchResult> {
  const chosen = measurements.filter(
    ({ figures }) => only.length === 0 || figures.some((figure) => only.includes(figure)),
  );
  const measured = new Map<string, Figure>();
  for (const [index, measurement] of chosen.entries()) {
    onProgress(`${index + 1}/${chosen.length}: ${measurement.name}`);
    for (const figure of await measure(measurement)) {
      const other = measured.get(figure.name);
      measured.set(figure.name, other ? worse(other, figure, bars[figure.name]) : figure);
    }
  }
  const entries = [...measured.values()];
  return {
    figures: Object.fromEntries(entries.map(({ name, value }) => [name, value])),
    bars: Object.fromEntries(Object.entries(bars).filter(([name]) => measured.has(name))),
    details: Object.fromEntries(entries.map(({ name, value: _, ...detail }) => [name, detail])),
    notes: [],
  };
}

function worse(a: Figure, b: Figure, bar: Bar | undefined): Figure {
  return (bar !== undefined && 'atLeast' in bar) === a.value < b.value ? a : b;
}
