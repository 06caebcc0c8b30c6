import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keys } from '../core/ids.ts';
import type { Evaluation } from '../core/records.ts';
import { writeAuditableRun, writeIteration } from '../tests/fixtures/auditable-run.ts';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { openLocalStore } from './local/open-local-store.ts';
import { publishMetrics, readMetrics } from './metrics-file.ts';
import { createRunFolder } from './run-folder.ts';
import type { Store } from './store.ts';

async function publishedRun() {
  const runs = scratchFolder();
  const store = openLocalStore(join(runs, '.store'));
  await writeAuditableRun(store, 'run', 2);
  const folder = await createRunFolder(runs, 'training', 'run');
  expect(await publishMetrics(store, 'run', folder)).toBe(4);
  return { store, folder, path: join(folder.metrics, 'metrics.jsonl') };
}

async function recordEvaluation(store: Store, version: number): Promise<void> {
  const value: Evaluation = { version, tasks: 8, accuracy: 0.5, meanLength: 3, trajectories: [] };
  const provenance = { startedAt: 'a', finishedAt: 'b', attempt: 1, worker: 'test' };
  await store.recordResult('run', keys.evaluation(version), { value, provenance });
}

test('each version up to the head has one line, and publishing again changes nothing', async () => {
  const { store, folder, path } = await publishedRun();
  expect((await readMetrics(folder)).map(({ type, version }) => [type, version])).toEqual(
    [0, 1, 2, 3].map((version) => ['version', version]),
  );
  const before = readFileSync(path, 'utf8');
  expect(await publishMetrics(store, 'run', folder)).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe(before);
});

test('new versions are appended, whoever missed how many before', async () => {
  const { store, folder, path } = await publishedRun();
  const before = readFileSync(path, 'utf8');
  let head = (await store.head('run'))!;
  for (const iteration of [3, 4]) head = await writeIteration(store, head, iteration);
  expect(await publishMetrics(store, 'run', folder)).toBe(2);
  expect(readFileSync(path, 'utf8').startsWith(before)).toBe(true);
  expect((await readMetrics(folder)).at(-1)).toMatchObject({
    type: 'version',
    version: 5,
    kind: 'reinforcement',
  });
});

test('an evaluation that comes late stands after its version', async () => {
  const { store, folder } = await publishedRun();
  await recordEvaluation(store, 1);
  expect(await publishMetrics(store, 'run', folder)).toBe(1);
  expect((await readMetrics(folder)).map(({ type, version }) => `${type} ${version}`)).toEqual([
    'version 0',
    'version 1',
    'evaluation 1',
    'version 2',
    'version 3',
  ]);
});

test('torn, foreign and repeated lines go, and missing ones come back', async () => {
  const { store, folder, path } = await publishedRun();
  const good = readFileSync(path, 'utf8');
  const lines = good.split('\n').slice(0, -1);
  const damaged = [
    good + '{"type":"vers',
    good.slice(0, -20),
    `${good}${lines[2]}\n`,
    `${lines[3]}\nnonsense\n${lines[0]}\n`,
    '',
  ];
  for (const text of damaged) {
    writeFileSync(path, text);
    await publishMetrics(store, 'run', folder);
    expect(readFileSync(path, 'utf8')).toBe(good);
  }
});

test('a torn last line is not read', async () => {
  const { folder, path } = await publishedRun();
  appendFileSync(path, '{"type":"version","vers');
  expect(await readMetrics(folder)).toHaveLength(4);
});
