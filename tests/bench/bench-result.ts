/** What a figure must reach; the bound itself passes. */
export type Bar = { atLeast: number } | { atMost: number };

/** How one figure was measured. */
export interface FigureDetail {
  /** What it is a ratio to, or what it counts. */
  against: string;
  /** How the rounds became one number, e.g. `median of 7`. */
  statistic: string;
  lowest: number;
  highest: number;
  /** What went into it, by name with its unit. */
  quantities: Record<string, number>;
}

/** What a benchmark measured. */
export interface BenchResult {
  figures: Record<string, number>;
  /** Lines for a person who wants to know where a figure comes from. */
  notes: string[];
  bars?: Record<string, Bar>;
  details?: Record<string, FigureDetail>;
  /** Why the command must end with exit code 1; timings that miss a bar are no reason. */
  failure?: string;
}

export function passes(value: number, bar: Bar): boolean {
  return 'atLeast' in bar ? value >= bar.atLeast : value <= bar.atMost;
}
