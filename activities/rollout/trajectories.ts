/** Trajectories from the parts that shards persisted; where a retry wrote one twice, the first stands. */
import { trajectorySchema, type Trajectory } from '../../core/records.ts';
import type { Ref } from '../../core/refs.ts';
import { getJsonl } from '../../store/jsonl.ts';
import type { Store } from '../../store/store.ts';

export async function readTrajectories(store: Store, parts: Ref[]): Promise<Trajectory[]> {
  const byCoordinates = new Map<string, Trajectory>();
  for (const part of parts) {
    for (const trajectory of await getJsonl(store, part, trajectorySchema)) {
      const coordinates = `${trajectory.group}/${trajectory.sample}`;
      if (!byCoordinates.has(coordinates)) byCoordinates.set(coordinates, trajectory);
    }
  }
  return [...byCoordinates.values()];
}
