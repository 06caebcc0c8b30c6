import fc from 'fast-check';
import { expect, test } from 'vitest';
import { trajectorySchema, type Trajectory } from '../core/records.ts';
import { trajectoryAt } from '../tests/fixtures/trajectory.ts';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { getJsonl } from './jsonl.ts';
import { openLocalStore } from './local/open-local-store.ts';
import { openShardParts } from './shard-parts.ts';
import type { Provenance, Store } from './store.ts';

const shard = 'iteration-000001/rollout-0000';
const provenance = (): Provenance => ({ startedAt: 'a', finishedAt: 'b', attempt: 1, worker: 'test' });
const open = (store: Store) => openShardParts(store, 'run', shard, provenance);

function made(group: number, sample: number, by: string): Trajectory {
  return trajectoryAt({ iteration: 1, group, sample, taskId: `task-${group}` }, { mark: by });
}

test('a retry finds what the killed attempt persisted', async () => {
  const store = openLocalStore(scratchFolder());
  const first = open(store);
  await first.append([made(0, 1, 'a'), made(0, 0, 'a')]);
  await first.append([made(1, 0, 'a')]);
  const retry = open(store);
  expect(await retry.finished()).toEqual([made(0, 0, 'a'), made(0, 1, 'a'), made(1, 0, 'a')]);
  await retry.append([made(1, 1, 'b')]);
  expect(await retry.refs()).toHaveLength(3);
  expect(await store.listResults('run', `${shard}/`)).toEqual(
    [0, 1, 2].map((part) => `${shard}/part-000${part}`),
  );
});

test('a part appended twice is one part', async () => {
  const store = openLocalStore(scratchFolder());
  const [attempt, zombie] = [open(store), open(store)];
  const ref = await attempt.append([made(0, 0, 'same')]);
  expect(await zombie.append([made(0, 0, 'same')])).toEqual(ref);
  expect(await open(store).refs()).toEqual([ref]);
});

test('of two attempts at the same sample the lower part stands, for both and for later readers', async () => {
  const store = openLocalStore(scratchFolder());
  const [attempt, zombie] = [open(store), open(store)];
  await attempt.finished();
  await zombie.append([made(0, 0, 'zombie')]);
  await attempt.append([made(0, 0, 'attempt'), made(0, 1, 'attempt')]);
  const standing = [made(0, 0, 'zombie'), made(0, 1, 'attempt')];
  for (const reader of [attempt, zombie, open(store)]) {
    expect(await reader.finished()).toEqual(standing);
    const refs = await reader.refs();
    const read = await Promise.all(refs.map((ref) => getJsonl(store, ref, trajectorySchema)));
    expect(read.flat()).toEqual(standing);
  }
});

test('however two attempts interleave, nothing that was appended is lost and every reader sees each sample once', async () => {
  const piece = fc.array(fc.tuple(fc.nat(2), fc.nat(2)), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 3 }), fc.array(piece, { maxLength: 3 }), async (a, b) => {
      const store = openLocalStore(scratchFolder());
      const run = async (name: string, pieces: [number, number][][]) => {
        const parts = open(store);
        for (const places of pieces) {
          const unique = new Map(places.map((place) => [place.join(), place]));
          await parts.append([...unique.values()].map(([group, sample]) => made(group, sample, name)));
        }
      };
      await Promise.all([run('a', a), run('b', b)]);
      const finished = (await open(store).finished()).map(({ group, sample }) => `${group},${sample}`);
      expect(new Set(finished)).toEqual(new Set([...a, ...b].flat().map((place) => place.join())));
      expect(new Set(finished).size).toBe(finished.length);
    }),
    { numRuns: 15 },
  );
});
