/** Statistics of one group's rewards. A group is constant when all its rewards are the same number: no tolerance. */

/** Whether all values are equal; true for fewer than two values. */
export function isConstant(values: readonly number[]): boolean {
  for (const value of values) if (value !== values[0]) return false;
  return true;
}

/** Arithmetic mean of at least one value. */
export function mean(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

/** Unbiased standard deviation (divisor n - 1); 0 for fewer than two values. */
export function sampleStandardDeviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const center = mean(values);
  let squares = 0;
  for (const value of values) squares += (value - center) ** 2;
  return Math.sqrt(squares / (values.length - 1));
}
