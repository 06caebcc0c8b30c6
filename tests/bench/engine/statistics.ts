/** Middle value; of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** One round of an interleaved measurement. */
export interface Round {
  /** Mean of the reference's rate just before and just after the unit. */
  reference: number;
  /** Seconds of the unit. */
  seconds: number;
}

/**
 * Measures a reference and a unit in turn, so that whatever slows the machine for a while slows both.
 * @param unit Runs once and returns the seconds that count.
 */
export async function interleaved(
  rounds: number,
  reference: () => number,
  unit: () => number | Promise<number>,
): Promise<Round[]> {
  await unit();
  const measured: Round[] = [];
  let before = reference();
  for (let round = 0; round < rounds; round++) {
    const seconds = await unit();
    const after = reference();
    measured.push({ reference: (before + after) / 2, seconds });
    before = after;
  }
  return measured;
}
