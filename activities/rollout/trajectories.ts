/** Trajectories from the parts that shards persisted, which hold each (group, sample) once. */
import { trajectorySchema, type Trajectory } from '../../core/records.ts';
import type { Ref } from '../../core/refs.ts';
import { getJsonl } from '../../store/jsonl.ts';
import type { Store } from '../../store/store.ts';

export async function readTrajectories(store: Store, parts: Ref[]): Promise<Trajectory[]> {
  const trajectories: Trajectory[] = [];
  for (const part of parts) trajectories.push(...(await getJsonl(store, part, trajectorySchema)));
  return trajectories;
}
