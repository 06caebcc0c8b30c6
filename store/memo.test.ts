import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { openLocalStore } from './local/open-local-store.ts';
import { memoise } from './memo.ts';
import type { Provenance } from './store.ts';

const schema = z.strictObject({ reward: z.number() });
const provenance = (): Provenance => ({ startedAt: 'a', finishedAt: 'b', attempt: 1, worker: 'test' });

test('a retry gets the recorded value and computes nothing', async () => {
  const store = openLocalStore(scratchFolder());
  const compute = vi.fn(() => Promise.resolve({ reward: Math.random() }));
  const first = await memoise(store, 'run', 'key', schema, provenance, compute);
  expect(await memoise(store, 'run', 'key', schema, provenance, compute)).toEqual(first);
  expect(compute).toHaveBeenCalledTimes(1);
});

test('those who compute at the same time all get the value of the first to record', async () => {
  const store = openLocalStore(scratchFolder());
  const values = await Promise.all(
    Array.from({ length: 8 }, (_, reward) =>
      memoise(store, 'run', 'key', schema, provenance, () => Promise.resolve({ reward })),
    ),
  );
  expect(new Set(values.map(({ reward }) => reward)).size).toBe(1);
});

test('a failed computation records nothing, so the next one computes', async () => {
  const store = openLocalStore(scratchFolder());
  const failing = memoise(store, 'run', 'key', schema, provenance, () => Promise.reject(new Error('died')));
  await expect(failing).rejects.toThrow('died');
  const value = await memoise(store, 'run', 'key', schema, provenance, () => Promise.resolve({ reward: 1 }));
  expect(value).toEqual({ reward: 1 });
});

test('a value that does not satisfy the schema is neither recorded nor handed out', async () => {
  const store = openLocalStore(scratchFolder());
  const wrong = memoise(store, 'run', 'key', schema, provenance, () => Promise.resolve({ reward: NaN }));
  await expect(wrong).rejects.toMatchObject({
    kind: 'StoreError',
    message: expect.stringContaining('computed result key') as string,
  });
  expect(await store.findResult('run', 'key')).toBeUndefined();

  await store.recordResult('run', 'key', { value: { reward: 'high' }, provenance: provenance() });
  const old = memoise(store, 'run', 'key', schema, provenance, () => Promise.resolve({ reward: 1 }));
  await expect(old).rejects.toMatchObject({
    kind: 'StoreError',
    message: expect.stringContaining('recorded result key') as string,
  });
});
