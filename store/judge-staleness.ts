/** Trajectories judged by the commit log of their run: see core/staleness.ts. */
import { RekindleError } from '../core/errors.ts';
import { agesSeenFrom } from '../core/lineage.ts';
import type { Trajectory } from '../core/records.ts';
import type { Scheduling } from '../core/scheduling.ts';
import { judgeStaleness, oldestVersion, type Judged } from '../core/staleness.ts';
import type { Store } from './store.ts';

/** @throws StoreError when the log lacks a version between the oldest that sampled and the parent. */
export async function judgeByLog(
  store: Store,
  { run, parent, trajectories }: { run: string; parent: number; trajectories: Trajectory[] },
  scheduling: Scheduling,
): Promise<Judged> {
  return judgeStaleness(trajectories, await agesByLog(store, run, parent, trajectories), scheduling);
}

/** The age of each version that may have sampled the trajectories, seen from `parent`. */
export function agesByLog(
  store: Store,
  run: string,
  parent: number,
  trajectories: readonly Trajectory[],
): Promise<ReadonlyMap<number, number>> {
  return agesSeenFrom(parent, oldestVersion(trajectories) ?? parent, async (version) => {
    const entry = await store.entry(run, version);
    if (entry !== undefined) return entry;
    throw new RekindleError('StoreError', `run ${run}: version ${version} is missing from the log`, {
      hint: 'Restore the store from a copy; "rekindle verify <run>" lists everything that is missing.',
      permanent: true,
    });
  });
}
