/** How long the long activities of a run have taken in its last iteration. */
import type { Store } from '../../store/store.ts';

const metricOf: Record<string, string> = {
  rolloutShard: 'time/rollout_seconds',
  updateActor: 'time/update_seconds',
};

/** Seconds by activity; empty before there is an iteration, and when the store cannot say. */
export async function usualSeconds(store: Store, run: string): Promise<Record<string, number>> {
  const head = await store.head(run).catch(() => undefined);
  return Object.fromEntries(
    Object.entries(metricOf).flatMap(([activity, metric]) => {
      const seconds = head?.metrics[metric];
      return seconds === undefined ? [] : [[activity, seconds]];
    }),
  );
}
