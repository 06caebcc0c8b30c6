/** Runs `count` jobs in order of their number, at most `window` of them at a time; their results. Rejects with the first failure. */
export async function inWindow<T>(
  count: number,
  window: number,
  job: (index: number) => Promise<T>,
): Promise<T[]> {
  const results = new Array<T>(count);
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const index = next++;
      results[index] = await job(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(window, count) }, lane));
  return results;
}
