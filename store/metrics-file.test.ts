import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keys } from '../core/ids.ts';
import { metricMeaning } from '../core/metric-names.ts';
import type { Evaluation } from '../core/records.ts';
import { writeAuditableRun, writeIteration } from '../tests/fixtures/auditable-run.ts';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { openLocalStore } from './local/open-local-store.ts';
import { publishMetrics, readMetrics } from './metrics-file.ts';
import { createRunFolder, type RunFolder } from './run-folder.ts';
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

async function linesOf(folder: RunFolder): Promise<string[]> {
  const lines = await readMetrics(folder);
  return lines.map((line) => (line.type === 'faults' ? 'faults' : `${line.type} ${line.version}`));
}

test('each version up to the head has one line, and publishing again changes nothing', async () => {
  const { store, folder, path } = await publishedRun();
  expect(await linesOf(folder)).toEqual([0, 1, 2, 3].map((version) => `version ${version}`));
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
  expect(await linesOf(folder)).toEqual(['version 0', 'version 1', 'evaluation 1', 'version 2', 'version 3']);
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

test('faults stand in the last line, and not twice when a run is closed again', async () => {
  const { store, folder } = await publishedRun();
  const faults = {
    ...{ faults: { 'worker-killed': 2, 'server-away': 1 }, retries: { rolloutShard: 4 } },
    ...{ lostTokens: 70, lostTrajectorySeconds: 3.5, lostUpdateSeconds: 0, recoverySeconds: [9, 2, 4] },
  };
  expect(await publishMetrics(store, 'run', folder, faults)).toBe(1);
  expect(await publishMetrics(store, 'run', folder, faults)).toBe(0);
  expect((await linesOf(folder)).filter((line) => line === 'faults')).toHaveLength(1);
  const last = (await readMetrics(folder)).find(({ type }) => type === 'faults');
  expect(last).toEqual({
    type: 'faults',
    metrics: {
      ...{ 'faults/count': 3, 'faults/worker-killed': 2, 'faults/server-away': 1, 'faults/retries': 4 },
      ...{ 'lost/tokens': 70, 'lost/trajectory_seconds': 3.5, 'lost/update_seconds': 0 },
      ...{ 'recovery/median_seconds': 4, 'recovery/max_seconds': 9 },
    },
  });
  const names = last?.type === 'faults' ? Object.keys(last.metrics) : [];
  for (const name of names) expect(metricMeaning(name)).toBeDefined();
});
