import { chmodSync, copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { keys } from '../core/ids.ts';
import { trajectorySchema, type LogEntry } from '../core/records.ts';
import { rollbackEntry } from '../core/rollback.ts';
import {
  groupSize,
  scheduleBatch,
  tasksPerIteration,
  writeAuditableRun,
  writeIteration,
} from '../tests/fixtures/auditable-run.ts';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { getJsonl, putJsonl } from './jsonl.ts';
import { openLocalStore } from './local/open-local-store.ts';
import { writeLogEntry, writeRecorded } from './record-text.ts';
import type { Store } from './store.ts';
import { verificationSchema, verifyRun, type Verification } from './verify.ts';

const iterations = 3;
const versions = 2 + iterations;
let folder: string;
let store: Store;

beforeEach(async () => {
  folder = scratchFolder();
  store = openLocalStore(folder);
  await writeAuditableRun(store, 'run', iterations);
});

async function audit(finished = true): Promise<Verification> {
  return verificationSchema.parse(await verifyRun(openLocalStore(folder), 'run', { finished }));
}

const logPath = (version: number) => join(folder, 'log', 'run', `${String(version).padStart(8, '0')}.json`);
const resultPath = (key: string) => join(folder, 'results', 'run', `${key}.json`);
const artifactPath = (hash: string) => {
  const hex = hash.slice('sha256:'.length);
  return join(folder, 'artifacts', 'sha256', hex.slice(0, 2), hex);
};

function overwrite(path: string, text: string | Buffer): void {
  chmodSync(path, 0o644);
  writeFileSync(path, text);
}

/** Replaces a log entry by another with a right checksum, as a faulty program would have written it. */
async function tamper(version: number, change: (entry: LogEntry) => Partial<LogEntry>): Promise<void> {
  const entry = (await store.entry('run', version))!;
  overwrite(logPath(version), writeLogEntry({ ...entry, ...change(entry) }, 'test'));
}

test('a run as it should be has no problems, and everything in it was counted', async () => {
  expect(await audit()).toEqual({
    ok: true,
    run: 'run',
    policyVersions: versions,
    tasks: { scheduled: 9, committed: 9, skipped: 0, duplicated: 0 },
    doubleSteps: 0,
    // 4 weights and 3 moments, 3 batches, 6 parts of trajectories, and rows that are the same in two iterations.
    artifacts: { checked: 17, missing: 0, corrupt: 0 },
    problems: [],
  });
});

test('a missing log entry is found, and so are the tasks that nobody committed any more', async () => {
  rmSync(logPath(3));
  const { ok, policyVersions, tasks, problems } = await audit();
  expect({ ok, policyVersions, skipped: tasks.skipped }).toEqual({
    ok: false,
    policyVersions: versions - 1,
    skipped: tasksPerIteration,
  });
  expect(problems).toContain('version 3: the log entry is missing');
});

test('one flipped bit in an artifact is found', async () => {
  const { weights } = (await store.head('run'))!;
  const bytes = readFileSync(artifactPath(weights.hash));
  bytes[3]! ^= 4;
  overwrite(artifactPath(weights.hash), bytes);
  const { ok, artifacts, problems } = await audit();
  expect(ok).toBe(false);
  expect(artifacts).toMatchObject({ missing: 0, corrupt: 1 });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(`named by log entry ${versions - 1}`);
});

test.each(['log', 'results'])('one flipped bit in a record of the %s is found', async (kind) => {
  const path = kind === 'log' ? logPath(versions - 1) : resultPath(keys.candidate(1, 2));
  const text = readFileSync(path, 'utf8');
  overwrite(path, text.replace('"optimizerStep":', '"optimizerStep":1'));
  const { ok, problems } = await audit();
  expect(ok).toBe(false);
  expect(problems.join('\n')).toContain('does not match its checksum');
});

test('a missing artifact is found', async () => {
  const { trajectories } = (await store.entry('run', 2))!;
  rmSync(artifactPath(trajectories[0]!.hash));
  const { ok, artifacts, tasks } = await audit();
  expect(ok).toBe(false);
  expect(artifacts).toMatchObject({ missing: 1, corrupt: 0 });
  expect(tasks.committed).toBe(9 - tasksPerIteration);
});

test('a swapped parent is found', async () => {
  const other = (await store.entry('run', 0))!.weights.hash;
  await tamper(4, () => ({ parent: other }));
  const { ok, problems } = await audit();
  expect(ok).toBe(false);
  expect(problems).toEqual([
    expect.stringMatching(new RegExp(`version 4: its parent is ${other}, expected version 3`)),
  ]);
});

test('two swapped entries are found', async () => {
  renameSync(logPath(2), join(folder, 'aside'));
  renameSync(logPath(3), logPath(2));
  renameSync(join(folder, 'aside'), logPath(3));
  const { ok, problems } = await audit();
  expect(ok).toBe(false);
  expect(problems.join('\n')).toContain('expected version 2 of run run, found 3 of run');
});

test('the entry of another run is found', async () => {
  await writeAuditableRun(store, 'other', 1);
  copyFileSync(join(folder, 'log', 'other', '00000000.json'), logPath(0));
  const { ok, problems } = await audit();
  expect(ok).toBe(false);
  expect(problems.join('\n')).toContain('expected version 0 of run run, found 0 of other');
});

test('an iteration committed a second time is a double step, and its tasks are duplicated', async () => {
  await writeIteration(store, (await store.head('run'))!, iterations, ' again');
  const { ok, doubleSteps, tasks, problems } = await audit();
  expect({ ok, doubleSteps, duplicated: tasks.duplicated }).toEqual({
    ok: false,
    doubleSteps: 1,
    duplicated: tasksPerIteration,
  });
  expect(problems.join('\n')).toContain(
    `reinforcement ${iterations} was committed before, as version ${versions - 1}`,
  );
});

test('weights that are not those of the recorded candidate are a double step', async () => {
  const weights = await store.putBytes(Buffer.from('stepped twice'), 'text/plain');
  await tamper(versions - 1, () => ({ weights }));
  const { ok, doubleSteps } = await audit();
  expect({ ok, doubleSteps }).toEqual({ ok: false, doubleSteps: 1 });
});

test('an update without signal that changed the policy is a double step', async () => {
  const weights = await store.putBytes(Buffer.from('moved on its own'), 'text/plain');
  await tamper(3, () => ({ weights }));
  expect((await audit()).doubleSteps).toBe(1);
});

test('an optimizer step that did not grow is a double step', async () => {
  const head = (await store.head('run'))!;
  const key = keys.candidate(iterations, versions - 1);
  const recorded = (await store.findResult('run', key))!;
  const value = { ...(recorded.value as object), optimizerStep: 4 };
  overwrite(resultPath(key), writeRecorded({ ...recorded, value }, 'test'));
  await tamper(head.version, () => ({ optimizerStep: 4 }));
  const { doubleSteps, problems } = await audit();
  expect(doubleSteps).toBe(1);
  expect(problems.join('\n')).toContain('the optimizer step is 4, expected more than 4');
});

/** Changes the trajectories of a version's entry, with outcomes that agree. */
async function changeTrajectories(version: number, change: (texts: unknown[]) => unknown[]): Promise<void> {
  const entry = (await store.entry('run', version))!;
  const held = await Promise.all(entry.trajectories.map((ref) => getJsonl(store, ref, trajectorySchema)));
  const changed = trajectorySchema.array().parse(change(held.flat()));
  const ref = await putJsonl(store, changed, trajectorySchema);
  await tamper(version, () => ({ trajectories: [ref], rows: null, outcomes: { scored: changed.length } }));
}

test('a task whose trajectories are missing from its iteration is skipped', async () => {
  await changeTrajectories(2, (trajectories) => trajectories.slice(groupSize));
  const { ok, tasks, problems } = await audit();
  expect(ok).toBe(false);
  expect(tasks).toEqual({ scheduled: 9, committed: 8, skipped: 1, duplicated: 0 });
  expect(problems.join('\n')).toContain('task task-0 (group 0), sample 0: 0 trajectories, expected one');
});

test('a task with a sample twice is duplicated', async () => {
  await changeTrajectories(2, (trajectories) => [...trajectories, trajectories[0]]);
  const { ok, tasks } = await audit();
  expect(ok).toBe(false);
  expect(tasks).toEqual({ scheduled: 9, committed: 8, skipped: 0, duplicated: 1 });
});

test('trajectories of another iteration, task or later policy are found', async () => {
  await changeTrajectories(2, (trajectories) =>
    trajectories.map((trajectory) => ({ ...(trajectory as object), iteration: 7, taskId: 'stranger' })),
  );
  const { problems } = await audit();
  expect(problems.join('\n')).toContain('6 trajectories are not of iteration 1');
  expect(problems.join('\n')).toContain("6 trajectories are of a task that is not the batch's");
});

test('outcomes that do not add up to the trajectories are found', async () => {
  await tamper(2, () => ({ outcomes: { scored: 5, failed: 2 } }));
  const { ok, problems } = await audit();
  expect(ok).toBe(false);
  expect(problems).toEqual([
    'iteration 1: the log tells of 5 episodes "scored", its trajectories of 6',
    'iteration 1: the log tells of 2 episodes "failed", its trajectories of 0',
  ]);
});

test('rows of no trajectory are found', async () => {
  const row = { group: 9, sample: 0, ids: [1], trained: [0], logprobs: [0], advantage: 0 };
  const rows = await store.putBytes(Buffer.from(`${JSON.stringify(row)}\n`), 'application/jsonl');
  await tamper(2, () => ({ rows }));
  expect((await audit()).problems).toEqual([
    'iteration 1: 1 rows are of no trajectory that may be learned from, the first of group 9, sample 0',
  ]);
});

test('a batch that leaves out tasks, or takes some again, is found by its cursor', async () => {
  const key = keys.batch(2);
  const recorded = (await store.findResult('run', key))!;
  const shifted = async (by: number) => {
    const value = { ...(recorded.value as object), firstCursor: 3 + by, nextCursor: 6 + by };
    overwrite(resultPath(key), writeRecorded({ ...recorded, value }, 'test'));
    return (await audit()).tasks;
  };
  expect(await shifted(2)).toMatchObject({ skipped: 2, duplicated: 2 });
  expect(await shifted(-1)).toMatchObject({ duplicated: 1, skipped: 1 });
});

test('a scheduled batch may wait for its commit while the run goes on, and is skipped once it is over', async () => {
  await scheduleBatch(store, 'run', iterations + 1);
  expect(await audit(false)).toMatchObject({ ok: true, tasks: { scheduled: 12, committed: 9, skipped: 0 } });
  expect(await audit(true)).toMatchObject({ ok: false, tasks: { scheduled: 12, committed: 9, skipped: 3 } });
});

test('a committed iteration whose batch record is gone is found', async () => {
  rmSync(resultPath(keys.batch(3)));
  const { ok, problems } = await audit();
  expect(ok).toBe(false);
  expect(problems).toContain(`version ${versions - 1}: no batch is recorded for iteration 3`);
});

test('a damaged head does not hide the entries before it', async () => {
  overwrite(logPath(versions - 1), 'torn');
  const { ok, policyVersions } = await audit();
  expect({ ok, policyVersions }).toEqual({ ok: false, policyVersions: versions - 1 });
});

test('a run that is not there is a problem, not a crash', async () => {
  const result = await verifyRun(store, 'nobody');
  expect(result).toMatchObject({
    ok: false,
    policyVersions: 0,
    problems: [expect.stringContaining('has no log')],
  });
});

describe('a rollback', () => {
  const goBack = async (restores: number, change: (entry: LogEntry) => Partial<LogEntry> = () => ({})) => {
    const head = (await store.head('run'))!;
    const entry = rollbackEntry(head, (await store.entry('run', restores))!, {});
    return store.append({ ...entry, ...change(entry) });
  };

  test('is accounted for, and so is what is learned on top of it', async () => {
    const back = await goBack(2);
    await writeIteration(store, back, iterations + 1);
    expect(await audit()).toMatchObject({ ok: true, doubleSteps: 0, tasks: { skipped: 0, duplicated: 0 } });
  });

  test('to another policy than the one it names is a double step', async () => {
    const weights = await store.putBytes(Buffer.from('not that one'), 'text/plain');
    await goBack(2, () => ({ weights }));
    const { doubleSteps, problems } = await audit();
    expect(doubleSteps).toBe(1);
    expect(problems.join('\n')).toContain('goes back to version 2, yet it is not the same policy');
  });

  test('to a version that is not before it is found', async () => {
    await goBack(2, ({ version }) => ({ restores: version }));
    expect((await audit()).problems.join('\n')).toContain('which is not before it');
  });

  test('that skips an iteration is found', async () => {
    await goBack(2, ({ iteration }) => ({ iteration: iteration + 1 }));
    expect((await audit()).problems.join('\n')).toContain(`expected ${iterations}`);
  });
});

test('a fork must begin with the policy that it names', async () => {
  const value = { given: { from: { run: 'other', version: 0 } } };
  const provenance = { startedAt: 'a', finishedAt: 'b', attempt: 1, worker: 'test' };
  await store.recordResult('run', keys.opening(), { value, provenance });
  expect((await audit()).problems.join('\n')).toContain('version 0 of run other, which is not in the store');
  const first = (await store.entry('run', 0))!;
  const weights = await store.putBytes(Buffer.from('another policy'), 'text/plain');
  await store.append({ ...first, run: 'other', weights });
  expect((await audit()).problems.join('\n')).toContain(`but version 0 of run other is ${weights.hash}`);
});
