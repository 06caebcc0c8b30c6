/** The figures of the engine bench, and what each must reach on two cores. */
import type { Bar, FigureDetail } from '../bench-result.ts';
import { median } from './statistics.ts';

export const bars = {
  train15M: { atLeast: 0.7 },
  train135M: { atLeast: 0.78 },
  memory135MGB: { atMost: 3.2 },
  memory135MCheckpointedGB: { atMost: 1.9 },
  checkpointedTimeRatio: { atMost: 1.3 },
  adamwNsPerParam: { atMost: 2 },
  decode15M: { atLeast: 0.65 },
  decode135M: { atLeast: 0.65 },
  jsShareDecode: { atMost: 0.05 },
  loadSeconds: { atMost: 5 },
} as const satisfies Record<string, Bar>;

export type FigureName = keyof typeof bars;
export const figureNames = Object.keys(bars) as FigureName[];

export interface Figure extends FigureDetail {
  name: FigureName;
  value: number;
}

/** A figure whose value is the median of its rounds. */
export function medianFigure(
  name: FigureName,
  values: readonly number[],
  against: string,
  quantities: Record<string, number>,
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

/** Of two measurements of one figure (on two models, say) the one further from passing. */
export function worse(a: Figure, b: Figure): Figure {
  const bar: Bar = bars[a.name];
  return 'atLeast' in bar === a.value < b.value ? a : b;
}
