/**
 * Trajectories worth reading: from the first, middle and last iteration, the best and the worst rewarded, of different
 * groups. The choice is a pure function of the store, so a report made again shows the same ones.
 */
import { trajectorySchema, type LogEntry, type Trajectory } from '../../core/records.ts';
import { getJsonl } from '../../store/jsonl.ts';
import type { Store } from '../../store/store.ts';

/** Samples of one committed iteration, best rewarded first. */
export interface IterationSamples {
  iteration: number;
  /** The policy that sampled them. */
  version: number;
  samples: Trajectory[];
}

/** The first, middle and last of a list; fewer when the list is shorter. */
export function firstMiddleLast<T>(items: T[]): T[] {
  const indices = new Set([0, Math.floor((items.length - 1) / 2), items.length - 1]);
  return [...indices].flatMap((index) => items.slice(index, index + 1));
}

/**
 * The `count` best and `count` worst rewarded trajectories, one a group as long as groups last. Trajectories that an
 * infrastructure fault ended are left out: they have no reward.
 */
export function chooseSamples(trajectories: Trajectory[], count: number): Trajectory[] {
  const rewarded = trajectories
    .filter(({ outcome }) => outcome !== 'infra-failed' && outcome !== 'dropped')
    .sort((a, b) => b.reward - a.reward || a.group - b.group || a.sample - b.sample);
  const usedGroups = new Set<number>();
  const take = (candidates: Trajectory[]): Trajectory[] => {
    const taken: Trajectory[] = [];
    for (const candidate of candidates) {
      if (taken.length === count) break;
      if (usedGroups.has(candidate.group)) continue;
      usedGroups.add(candidate.group);
      taken.push(candidate);
    }
    return taken;
  };
  const best = take(rewarded);
  const worst = take(rewarded.toReversed());
  return [...best, ...worst.reverse()];
}

async function readTrajectories(store: Store, entry: LogEntry): Promise<Trajectory[]> {
  const parts: Trajectory[][] = [];
  for (const ref of entry.trajectories) parts.push(await getJsonl(store, ref, trajectorySchema));
  return parts.flat();
}

/** Reads the samples of a run's log; at most four trajectories an iteration. */
export async function readSamples(store: Store, entries: LogEntry[]): Promise<IterationSamples[]> {
  const withTrajectories = entries.filter(({ trajectories }) => trajectories.length > 0);
  const chosen: IterationSamples[] = [];
  for (const entry of firstMiddleLast(withTrajectories)) {
    const samples = chooseSamples(await readTrajectories(store, entry), 2);
    chosen.push({ iteration: entry.iteration, version: entry.version - 1, samples });
  }
  return chosen;
}
