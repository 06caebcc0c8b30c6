/**
 * Works through items, at most `lanes` of them at a time. `worker` is given the signal of the whole: the first failure aborts it,
 * and is thrown once all work has ended, so that nothing goes on behind the caller's back.
 */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  signal: AbortSignal,
  worker: (signal: AbortSignal) => (item: T) => Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const work = worker(either);
  const remaining = items.values();
  let failure: { error: unknown } | undefined;
  const lane = async (): Promise<void> => {
    for (const item of remaining) {
      try {
        either.throwIfAborted();
        await work(item);
      } catch (error) {
        failure ??= { error };
        failed.abort(error);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
  if (failure !== undefined) throw failure.error;
}
