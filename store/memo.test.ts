import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { fencedStore } from './fenced-store.ts';
import { openLocalStore } from './local/open-local-store.ts';
import { memoise, memoiseClaimed } from './memo.ts';
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

test('of those who claim the same work only the last records anything, whichever comes first to an end', async () => {
  const store = openLocalStore(scratchFolder());
  const begin = (name: string) => {
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    let begun!: () => void;
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const reward = Number(name);
    const result = memoiseClaimed(store, 'run', 'key', schema, provenance, async (own) => {
      begun();
      await ended;
      await own.recordResult('run', `key/part-${name}`, { value: { reward }, provenance: provenance() });
      return { reward };
    });
    return { end, hasBegun, result };
  };
  const attempts = [];
  for (const name of ['1', '2', '3']) {
    const attempt = begin(name);
    await attempt.hasBegun;
    attempts.push(attempt);
  }
  const [first, second, third] = attempts;
  first!.end();
  await expect(first!.result).rejects.toMatchObject({ kind: 'FencedError', retryable: true });
  third!.end();
  expect(await third!.result).toEqual({ reward: 3 });
  second!.end();
  await expect(second!.result).rejects.toMatchObject({ kind: 'FencedError' });
  expect(await store.listResults('run', '')).toEqual(['key', 'key/part-3']);
});

test('one who was overtaken is told the result that holds, if there is one', async () => {
  const store = openLocalStore(scratchFolder());
  const own = fencedStore(store, await store.claim('run', 'key'));
  await store.claim('run', 'key');
  await store.recordResult('run', 'key', { value: { reward: 2 }, provenance: provenance() });
  const late = { value: { reward: 1 }, provenance: provenance() };
  expect((await own.recordResult('run', 'key', late)).value).toEqual({ reward: 2 });
});

test('however attempts interleave, exactly one claim is the last', async () => {
  const store = openLocalStore(scratchFolder());
  const claims = await Promise.all(Array.from({ length: 20 }, () => store.claim('run', 'a/key')));
  const outcomes = await Promise.allSettled(claims.map((claim) => claim.requireLast()));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});
