/** Episodes that a segment of a shard began and did not finish, for the next segment to go on with. */
import { z } from 'zod';
import { keys } from '../../core/ids.ts';
import { turnSchema } from '../../core/records.ts';
import { refSchema } from '../../core/refs.ts';
import { getJsonl, putJsonl } from '../../store/jsonl.ts';
import type { Provenance, Store } from '../../store/store.ts';

/** The last turn may have been given up in the midst of its response; those before it are whole. */
const begunEpisodeSchema = z.strictObject({
  group: z.number().int().nonnegative(),
  sample: z.number().int().nonnegative(),
  turns: z.array(turnSchema),
});
export type BegunEpisode = z.infer<typeof begunEpisodeSchema>;

/** `segmentKey` is that of the segment that began them; no record means none. */
export async function readBegun(store: Store, run: string, segmentKey: string): Promise<BegunEpisode[]> {
  const recorded = await store.findResult(run, keys.begun(segmentKey));
  return recorded === undefined ? [] : getJsonl(store, refSchema.parse(recorded.value), begunEpisodeSchema);
}

export async function recordBegun(
  store: Store,
  run: string,
  segmentKey: string,
  episodes: readonly BegunEpisode[],
  provenance: () => Provenance,
): Promise<void> {
  if (episodes.length === 0) return;
  const value = await putJsonl(store, episodes, begunEpisodeSchema);
  await store.recordResult(run, keys.begun(segmentKey), { value, provenance: provenance() });
}
