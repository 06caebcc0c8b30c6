import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Meta } from '../core/records.ts';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { createRunFolder, findRunFolder, readMeta, runFolder, writeConfig, writeMeta } from './run-folder.ts';

const meta: Meta = {
  runId: 'first',
  recipe: 'smoke',
  status: 'running',
  policyVersion: 0,
  evaluation: { before: null, after: null },
  wallSeconds: 0,
  startedAt: '2026-01-05T12:00:00.000Z',
  finishedAt: null,
  weights: null,
  store: 'somewhere',
};

test('a run folder has its subfolders, and latest is the run opened last', async () => {
  const runs = scratchFolder();
  const first = await createRunFolder(runs, 'training', 'first');
  await writeMeta(first, meta);
  expect(readdirSync(first.root).sort()).toEqual(['config', 'logs', 'meta.json', 'metrics', 'trajectories']);
  await createRunFolder(runs, 'testing', 'second');
  expect(readlinkSync(join(runs, 'latest'))).toBe(join('testing', 'second'));
  await createRunFolder(runs, 'training', 'first');
  expect(readlinkSync(join(runs, 'latest'))).toBe(join('testing', 'second'));
  expect(readdirSync(runs).sort()).toEqual(['latest', 'testing', 'training']);
});

test('readers of meta.json see the old one or the new one, never a part', async () => {
  const folder = await createRunFolder(scratchFolder(), 'training', 'first');
  await writeMeta(folder, meta);
  let writing = true;
  const writer = (async () => {
    for (let version = 1; version <= 40; version++)
      await writeMeta(folder, { ...meta, policyVersion: version });
    writing = false;
  })();
  let last = 0;
  while (writing) {
    const seen = (await readMeta(folder))!.policyVersion;
    expect(seen).toBeGreaterThanOrEqual(last);
    last = seen;
  }
  await writer;
  expect((await readMeta(folder))?.policyVersion).toBe(40);
  expect(readdirSync(folder.root).filter((name) => name.startsWith('.'))).toEqual([]);
});

test('a run is found under any kind, and an unknown one is not', async () => {
  const runs = scratchFolder();
  const folder = await createRunFolder(runs, 'evaluation', 'first');
  await writeMeta(folder, meta);
  expect(await findRunFolder(runs, 'first')).toEqual(folder);
  expect(await findRunFolder(runs, 'second')).toBeUndefined();
});

test('a broken meta.json names its file and field', async () => {
  const folder = await createRunFolder(scratchFolder(), 'training', 'first');
  writeFileSync(folder.meta, JSON.stringify({ ...meta, policyVersion: -1 }));
  await expect(readMeta(folder)).rejects.toMatchObject({
    kind: 'StoreError',
    message: expect.stringMatching(/meta\.json.*policyVersion/s) as string,
  });
});

test('a run id that is a path is refused', () => {
  expect(() => runFolder('/runs', 'training', '../elsewhere')).toThrow('bad run id "../elsewhere"');
});

test('a runs folder that is a file is told', async () => {
  const runs = join(scratchFolder(), 'runs');
  writeFileSync(runs, '');
  await expect(createRunFolder(runs, 'training', 'first')).rejects.toMatchObject({
    kind: 'StoreError',
    message: expect.stringContaining(runs) as string,
  });
});

test('the configuration is kept as given, as resolved, and with its surroundings', async () => {
  const folder = await createRunFolder(scratchFolder(), 'training', 'first');
  await writeConfig(folder, { given: 'smoke', resolved: { seed: 1 }, surroundings: { cores: 2 } });
  const read = (name: string) => JSON.parse(readFileSync(join(folder.config, name), 'utf8')) as unknown;
  expect([read('given.json'), read('resolved.json'), read('surroundings.json')]).toEqual([
    'smoke',
    { seed: 1 },
    { cores: 2 },
  ]);
});
