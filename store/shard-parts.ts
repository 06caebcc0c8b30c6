/**
 * The finished trajectories of a rollout shard, persisted in parts while the shard goes on, so that a retry makes only what
 * is missing. Part k is the result `<shard key>/part-<k>`.
 *
 * A worker that is taken for dead may go on beside the retry, and both may finish the same (group, sample). The part with the
 * lower number then holds, for every reader: what a shard returns must come from `finished` and `refs`, never from memory.
 */
import { trajectorySchema, type Trajectory } from '../core/records.ts';
import { refSchema, type Ref } from '../core/refs.ts';
import { getJsonl, putJsonl } from './jsonl.ts';
import { sampledWork } from './sampled-work.ts';
import type { Provenance, Store } from './store.ts';

export interface ShardParts {
  /** Each persisted (group, sample), once, in the order of group and sample. */
  finished(): Promise<Trajectory[]>;
  /** Persists trajectories as a new part. */
  append(trajectories: readonly Trajectory[]): Promise<Ref>;
  /** Artifacts that hold each persisted (group, sample) exactly once: the parts, or one merged artifact if parts overlap. */
  refs(): Promise<Ref[]>;
}

/** `provenance` is asked for each part that is written. */
export function openShardParts(
  store: Store,
  run: string,
  shardKey: string,
  provenance: () => Provenance,
): ShardParts {
  const parts: { ref: Ref; trajectories: readonly Trajectory[] }[] = [];

  /** `own` is what was just written; another's part is read. */
  async function load(
    value: unknown,
    own?: { ref: Ref; trajectories: readonly Trajectory[] },
  ): Promise<void> {
    const ref = refSchema.parse(value);
    const trajectories =
      ref.hash === own?.ref.hash ? own.trajectories : await getJsonl(store, ref, trajectorySchema);
    parts.push({ ref, trajectories });
  }

  async function loadNewParts(): Promise<void> {
    for (;;) {
      const recorded = await store.findResult(run, partKey(shardKey, parts.length));
      if (recorded === undefined) return;
      await load(recorded.value);
    }
  }

  async function append(trajectories: readonly Trajectory[]): Promise<Ref> {
    const ref = await putJsonl(store, trajectories, trajectorySchema);
    await loadNewParts();
    while (!parts.some((part) => part.ref.hash === ref.hash)) {
      const key = partKey(shardKey, parts.length);
      const winner = await store.recordResult(run, key, { value: ref, provenance: provenance() });
      await load(winner.value, { ref, trajectories });
    }
    sampledWork()?.saved(trajectories.reduce((sum, trajectory) => sum + sampledTokens(trajectory), 0));
    return ref;
  }

  async function finished(): Promise<Trajectory[]> {
    await loadNewParts();
    return firstOfEach(parts.flatMap((part) => part.trajectories));
  }

  async function refs(): Promise<Ref[]> {
    const merged = await finished();
    const written = parts.reduce((sum, part) => sum + part.trajectories.length, 0);
    if (written === merged.length) return parts.map((part) => part.ref);
    return [await putJsonl(store, merged, trajectorySchema)];
  }

  return { finished, append, refs };
}

function sampledTokens({ turns }: Trajectory): number {
  return turns.reduce((sum, { responseIds }) => sum + responseIds.length, 0);
}

function partKey(shardKey: string, part: number): string {
  return `${shardKey}/part-${String(part).padStart(4, '0')}`;
}

function firstOfEach(trajectories: readonly Trajectory[]): Trajectory[] {
  const byIdentity = new Map<string, Trajectory>();
  for (const trajectory of trajectories) {
    const identity = `${trajectory.group}/${trajectory.sample}`;
    if (!byIdentity.has(identity)) byIdentity.set(identity, trajectory);
  }
  return [...byIdentity.values()].sort((a, b) => a.group - b.group || a.sample - b.sample);
}
