/** Middle value; of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** One round of an interleaved measurement. */
export interface Round {
  /** Mean of the reference just before and just after the unit. */
  reference: number;
  unit: number;
}

/** Measures a reference and a unit in turn, so that whatever slows the machine for a while slows both. */
export async function interleaved(
  rounds: number,
  reference: () => number | Promise<number>,
  unit: () => number | Promise<number>,
): Promise<Round[]> {
  await unit();
  const measured: Round[] = [];
  let before = await reference();
  for (let round = 0; round < rounds; round++) {
    const value = await unit();
    const after = await reference();
    measured.push({ reference: (before + after) / 2, unit: value });
    before = after;
  }
  return measured;
}
