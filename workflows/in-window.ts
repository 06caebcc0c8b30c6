/** Runs `count` jobs in order of their number, at most `window` of them at a time. Rejects with the first failure. */
export async function inWindow(
  count: number,
  window: number,
  job: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: Math.min(window, count) }, lane));
}
