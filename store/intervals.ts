/** Stretches of time, in milliseconds since the Unix epoch. */
export interface Interval {
  start: number;
  end: number;
}

/** The time covered by any of the intervals: disjoint, ascending. */
export function unionOf(intervals: readonly Interval[]): Interval[] {
  const union: Interval[] = [];
  for (const { start, end } of [...intervals].sort((a, b) => a.start - b.start)) {
    const last = union.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else union.push({ start, end });
  }
  return union;
}

/** Seconds covered by any of the intervals. */
export function secondsCovered(intervals: readonly Interval[]): number {
  return unionOf(intervals).reduce((sum, { start, end }) => sum + (end - start), 0) / 1000;
}
