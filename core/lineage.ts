/** The ancestors of a policy version: going back through the commit log, around what was rolled back from. */
import type { LogEntry } from './records.ts';

export type Ancestor = Pick<LogEntry, 'restores'>;

/**
 * The age of each ancestor of version `parent` from version `oldest` on: how many updates lie between. A rollback is no update: its
 * policy is that of the version which it restored. A version that was rolled back from is no ancestor and has no age.
 *
 * `entryAt` is asked for versions above `oldest`, up to `parent`.
 */
export async function agesSeenFrom(
  parent: number,
  oldest: number,
  entryAt: (version: number) => Promise<Ancestor>,
): Promise<ReadonlyMap<number, number>> {
  const ages = new Map<number, number>();
  let version = parent;
  for (let age = 0; version >= oldest;) {
    ages.set(version, age);
    if (version === oldest) break;
    const { restores } = await entryAt(version);
    if (restores === undefined) age += 1;
    version = restores ?? version - 1;
  }
  return ages;
}
