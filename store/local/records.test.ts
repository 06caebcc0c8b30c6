import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { logEntry } from '../../tests/fixtures/log-entry.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import type { Provenance } from '../store.ts';
import { openLocalStore } from './open-local-store.ts';

const provenance: Provenance = { startedAt: 'a', finishedAt: 'b', attempt: 1, worker: 'test' };

test('however writers of a key interleave, there is one winner and all are told the same', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.jsonValue(), { minLength: 2, maxLength: 6 }),
      async (s, values) => {
        const store = openLocalStore(scratchFolder());
        const writes = values.map((value, i) =>
          s
            .schedule(Promise.resolve(i))
            .then(() => store.recordResult('run', 'a/key', { value, provenance })),
        );
        const [told] = await Promise.all([Promise.all(writes), s.waitIdle()]);
        const held = await store.findResult('run', 'a/key');
        for (const answer of told) expect(answer).toEqual(held);
        const written = values.map((value) => JSON.parse(JSON.stringify(value)) as unknown);
        expect(written).toContainEqual(held!.value);
      },
    ),
    { numRuns: 25 },
  );
});

test('what is recorded comes back as JSON keeps it, for the first writer too', async () => {
  const store = openLocalStore(scratchFolder());
  const recorded = { value: { kept: 1, dropped: undefined }, provenance };
  expect(await store.recordResult('run', 'key', recorded)).toStrictEqual({ value: { kept: 1 }, provenance });
  expect(await store.findResult('run', 'key')).toStrictEqual({ value: { kept: 1 }, provenance });
});

test('keys are listed by prefix, sorted, across their folders', async () => {
  const store = openLocalStore(scratchFolder());
  for (const key of ['b', 'a/2', 'a/1/part-0', 'a/1', 'opening']) {
    await store.recordResult('run', key, { value: key, provenance });
  }
  expect(await store.listResults('run', '')).toEqual(['a/1', 'a/1/part-0', 'a/2', 'b', 'opening']);
  expect(await store.listResults('run', 'a/1')).toEqual(['a/1', 'a/1/part-0']);
  expect(await store.listResults('run', 'a/1/')).toEqual(['a/1/part-0']);
  expect(await store.listResults('run', 'c/')).toEqual([]);
  expect(await store.listResults('other', '')).toEqual([]);
  await expect(store.listResults('other', '../run/')).rejects.toMatchObject({ kind: 'StoreError' });
});

test('an absent store holds nothing, and reading it makes no folder', async () => {
  const folder = join(scratchFolder(), 'absent');
  const store = openLocalStore(folder);
  expect(await store.findResult('run', 'key')).toBeUndefined();
  expect(await store.head('run')).toBeUndefined();
  expect(await store.runs()).toEqual([]);
  expect(() => readdirSync(folder)).toThrow();
});

test.each(['../outside', 'a//b', '/a', 'A', 'a/', 'a.json', ''])('the key %j is refused', async (key) => {
  const store = openLocalStore(scratchFolder());
  await expect(store.recordResult('run', key, { value: 1, provenance })).rejects.toMatchObject({
    kind: 'StoreError',
    retryable: false,
  });
});

test.each(['..', 'Run', 'a/b', ''])('the run id %j is refused', async (run) => {
  await expect(openLocalStore(scratchFolder()).head(run)).rejects.toMatchObject({ kind: 'StoreError' });
});

test('any damage to a record is found when it is read, and the file is named', async () => {
  const folder = scratchFolder();
  const store = openLocalStore(folder);
  await store.recordResult('run', 'key', { value: { reward: 0.25 }, provenance });
  const path = join(folder, 'results', 'run', 'key.json');
  chmodSync(path, 0o644);
  const good = readFileSync(path, 'utf8');
  const damaged = [
    good.replace('0.25', '0.35'),
    good.slice(0, 40),
    '',
    '[]',
    good.replace('"attempt":1', '"attempt":"1"'),
  ];
  for (const text of damaged) {
    writeFileSync(path, text);
    await expect(store.findResult('run', 'key')).rejects.toMatchObject({
      kind: 'StoreError',
      retryable: false,
      message: expect.stringContaining(path) as string,
    });
  }
});

test('the log grows by one from the head, and only on top of its weights', async () => {
  const store = openLocalStore(scratchFolder());
  const zero = logEntry({ run: 'run', version: 0, parent: null, weightsSeed: '0' });
  const one = logEntry({ run: 'run', version: 1, parent: zero.weights.hash, weightsSeed: '1' });
  await expect(store.append(one)).rejects.toMatchObject({ kind: 'StaleParentError' });
  await expect(store.append({ ...zero, parent: one.weights.hash })).rejects.toMatchObject({
    kind: 'StaleParentError',
  });
  expect(await store.append(zero)).toEqual(zero);
  await expect(store.append({ ...one, parent: one.weights.hash })).rejects.toMatchObject({
    kind: 'StaleParentError',
  });
  expect(await store.append(one)).toEqual(one);
  expect(await store.head('run')).toEqual(one);
  expect(await store.runs()).toEqual(['run']);
});

test('a version that is there is returned to whoever proposes another, even from another parent', async () => {
  const store = openLocalStore(scratchFolder());
  const first = await store.append(logEntry({ run: 'run', version: 0, parent: null, weightsSeed: 'first' }));
  const second = logEntry({ run: 'run', version: 0, parent: first.weights.hash, weightsSeed: 'second' });
  expect(await store.append(second)).toEqual(first);
});

test('an entry that JSON would change is refused before anything is written', async () => {
  const folder = scratchFolder();
  const store = openLocalStore(folder);
  const entry = logEntry({ run: 'run', version: 0, parent: null, weightsSeed: '0' });
  await expect(store.append({ ...entry, metrics: { loss: NaN } })).rejects.toMatchObject({
    kind: 'StoreError',
  });
  expect(readdirSync(folder)).toEqual([]);
});

test('an entry under the name of another version is refused', async () => {
  const folder = scratchFolder();
  const store = openLocalStore(folder);
  await store.append(logEntry({ run: 'run', version: 0, parent: null, weightsSeed: '0' }));
  const log = join(folder, 'log', 'run');
  writeFileSync(join(log, '00000001.json'), readFileSync(join(log, '00000000.json')));
  await expect(store.entry('run', 1)).rejects.toMatchObject({
    kind: 'StoreError',
    message: expect.stringContaining('expected version 1 of run run, found 0 of run') as string,
  });
});

test('a log folder that a killed writer left empty is no run', async () => {
  const folder = scratchFolder();
  mkdirSync(join(folder, 'log', 'stillborn'), { recursive: true });
  expect(await openLocalStore(folder).runs()).toEqual([]);
});
