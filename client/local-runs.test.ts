import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RunStatus } from '../core/records.ts';
import { createRunFolder, writeMeta } from '../store/run-folder.ts';
import { scheduleBatch, writeAuditableRun } from '../tests/fixtures/auditable-run.ts';
import { runsFolder, storeOf, verifyLocalRun } from './local-runs.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'rekindle-local-'));
});
afterEach(() => rm(home, { recursive: true }));

it.each<[RunStatus, number]>([
  ['completed', 3],
  ['stopped', 0],
  ['failed', 0],
  ['running', 0],
])('a batch that a %s run did not commit: %i skipped tasks', async (status, skipped) => {
  const store = storeOf(home);
  await writeAuditableRun(store, 'sums', 1);
  await scheduleBatch(store, 'sums', 2);
  await writeMeta(await createRunFolder(runsFolder(home), 'training', 'sums'), {
    ...{ runId: 'sums', recipe: 'smoke', status, policyVersion: 2, wallSeconds: 1, weights: null },
    ...{ evaluation: { before: null, after: null }, startedAt: 'a', finishedAt: 'b', store: store.location },
  });
  expect(await verifyLocalRun(home, 'sums')).toMatchObject({ ok: skipped === 0, tasks: { skipped } });
});
