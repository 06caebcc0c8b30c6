/** Runs that are steered, on a real Temporal server and real workers: gone back, forked, stopped by a rule, by hand and at once. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunHandle } from '../../client/run-handle.ts';
import { isTransient } from '../../client/temporal-errors.ts';
import { metaSchema, type LogEntry, type Meta } from '../../core/records.ts';
import { committedEntries } from '../../store/run-history.ts';
import { verifyRun } from '../../store/verify.ts';
import { startStack, type TestStack } from '../harness/stack.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

const entriesOf = (run: string): Promise<LogEntry[]> => committedEntries(stack.store, run);
async function metaOf(run: string): Promise<Meta> {
  const text = await readFile(join(stack.runsFolder, 'training', run, 'meta.json'), 'utf8');
  return metaSchema.parse(JSON.parse(text));
}
/** The question again while a worker is away. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isTransient(error)) throw error;
      await delay(100);
    }
  }
}
async function reach(handle: RunHandle, iteration: number): Promise<void> {
  while ((await patiently(() => handle.status())).iteration < iteration) await delay(20);
}

/** A run of `smoke` that has paused with exactly two iterations done; another is begun when one was too fast. */
async function pausedAtTwo(name: string): Promise<RunHandle> {
  for (let attempt = 1; ; attempt++) {
    const handle = await stack.rekindle.train('smoke', { run: `${name}-${attempt}` });
    await reach(handle, 1);
    await handle.pause();
    while ((await handle.status()).currentChild !== null) await delay(20);
    const { status, iteration } = await handle.status();
    if (status === 'paused' && iteration === 2) return handle;
    await handle.stop();
  }
}
const versionOf = async (run: string, iteration: number): Promise<number> =>
  (await entriesOf(run)).find((entry) => entry.kind === 'reinforcement' && entry.iteration === iteration)!
    .version;

/** Goes back to what the first iteration made, while paused; then to the end. */
async function goBack(handle: RunHandle, fault: () => Promise<void>): Promise<LogEntry[]> {
  const target = await versionOf(handle.run, 1);
  await expect(handle.rollback(99)).rejects.toThrow('version 99: expected');
  await expect(handle.rollback(0)).rejects.toThrow('lies in the warm start');
  const state = await patiently(() => handle.rollback(target));
  expect(state).toMatchObject({ status: 'paused', rollbackTo: target });
  await fault();
  while ((await entriesOf(handle.run)).at(-1)!.kind !== 'rollback') await delay(50);
  await patiently(() => handle.resume());
  const end = await handle.result();
  expect(end).toMatchObject({ status: 'completed', iteration: 4, rollbackTo: null });
  return entriesOf(handle.run);
}

test('a rollback goes back with the policy and on with the data, and is one entry whichever workers are killed', async () => {
  const calm = await goBack(await pausedAtTwo('calm'), () => Promise.resolve());
  const handle = await pausedAtTwo('killed');
  const killed = await goBack(handle, async () => {
    const witnesses = await Promise.all([stack.kill('cpu'), stack.kill('control')]);
    expect(witnesses.map((witness) => witness?.signal)).toEqual(['SIGKILL', 'SIGKILL']);
  });
  expect(killed.map(({ weights, kind, iteration }) => [kind, iteration, weights.hash])).toEqual(
    calm.map(({ weights, kind, iteration }) => [kind, iteration, weights.hash]),
  );
  const back = killed.filter(({ kind }) => kind === 'rollback');
  expect(back).toHaveLength(1);
  const restored = killed[back[0]!.restores!]!;
  expect(back[0]).toMatchObject({
    iteration: 2,
    weights: restored.weights,
    optimizer: restored.optimizer,
    optimizerStep: restored.optimizerStep,
  });
  expect(await verifyRun(stack.store, handle.run, { finished: true })).toMatchObject({
    ok: true,
    doubleSteps: 0,
    tasks: { skipped: 0, duplicated: 0 },
  });
});

test('a run that is stopped at once, and started again, ends in the bytes of one that never was', async () => {
  const undisturbed = await (await stack.rekindle.train('smoke', { run: 'undisturbed' })).result();
  const handle = await stack.rekindle.train('smoke', { run: 'broken-off' });
  await reach(handle, 1);
  await handle.stop('the machine is needed', { now: true });
  const stopped = await handle.result();
  expect(stopped).toMatchObject({ status: 'stopped', reason: 'the machine is needed', currentChild: null });
  expect(stopped.iteration).toBeLessThan(4);
  const meta = await metaOf('broken-off');
  expect(meta).toMatchObject({ status: 'stopped', reason: 'the machine is needed' });
  expect(meta.policyVersion).toBe(stopped.policyVersion);

  const again = await stack.rekindle.train('smoke', { run: 'broken-off' });
  const end = await again.result();
  expect(end).toMatchObject({ status: 'completed', reason: null, weights: undisturbed.weights });
  expect(await verifyRun(stack.store, 'broken-off', { finished: true })).toMatchObject({ ok: true });
  await expect(stack.rekindle.train('smoke', { run: 'broken-off' })).rejects.toMatchObject({
    kind: 'RunExistsError',
  });
});

test('a fork begins with the policy of another run, takes its recipe, and is refused what does not fit', async () => {
  const version = await versionOf('undisturbed', 3);
  const from = { run: 'undisturbed', version, optimizer: 'keep' as const };
  const handle = await stack.rekindle.train(undefined, {
    ...{ run: 'fork', from, set: ['training.iterations=1', 'seed=9'] },
  });
  expect(await handle.result()).toMatchObject({ status: 'completed', iteration: 1, recipe: 'smoke' });
  const [parent, [first, second]] = [await entriesOf('undisturbed'), await entriesOf('fork')];
  const { weights, optimizer, optimizerStep } = parent[version]!;
  expect(first).toMatchObject({ version: 0, kind: 'initial', weights, optimizer, optimizerStep });
  expect(second!.optimizerStep).toBeGreaterThan(optimizerStep);
  expect((await metaOf('fork')).from).toEqual({ run: 'undisturbed', version });
  expect(await verifyRun(stack.store, 'fork', { finished: true })).toMatchObject({ ok: true });

  const refused = async (run: string, options: object): Promise<unknown> => {
    const started = await stack.rekindle.train(undefined, { run, ...options });
    return started.result().catch((error: unknown) => error);
  };
  expect(await refused('no-run', { from: { run: 'nobody', version: 0 } })).toMatchObject({
    kind: 'RunNotFoundError',
    message: expect.stringContaining('run nobody is not in the store'),
  });
  expect(await refused('no-version', { from: { run: 'fork', version: 7 } })).toMatchObject({
    message: expect.stringContaining('has no policy version 7'),
  });
  const wider = { from: { run: 'fork', version: 0 }, set: ['model.initialize.hiddenSize=64'] };
  expect(await refused('other-model', wider)).toMatchObject({
    kind: 'RecipeError',
    message: expect.stringContaining('model.initialize.hiddenSize: 64; run fork has 32'),
  });
  expect(await stack.rekindle.run('other-model').status()).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('model.initialize.hiddenSize'),
  });
});

test('a rule stops a run after the iteration that meets it, across histories, and again when it is started again', async () => {
  const set = ['training.iterations=50', 'stopping=[{metric: batch/trajectories, above: 1, for: 3}]'];
  for (let time = 1; time <= 2; time++) {
    const handle = await stack.rekindle.train('smoke', { run: 'ruled', set });
    expect(await handle.result()).toMatchObject({
      ...{ status: 'stopped', iteration: 3 },
      reason: 'stopping.0: batch/trajectories is 128, above 1 for the 3th time in a row',
    });
  }
  expect((await metaOf('ruled')).reason).toContain('batch/trajectories');
});

test('refused updates lower the learning rate to the floor, and are counted', async () => {
  const set = [
    ...[
      'training.onNonFinite=lower-learning-rate',
      'training.epochs=3',
      'training.optimizer.weightDecay=1e38',
    ],
    ...['training.optimizer.learningRate=1', 'training.learningRateBackoff={factor: 0.5, floor: 0.3}'],
  ];
  const handle = await stack.rekindle.train('smoke', { run: 'overflowing', set });
  const state = await handle.result();
  const iterations = (await entriesOf('overflowing')).filter(({ kind }) => kind === 'reinforcement');
  expect(iterations.map(({ update }) => update)).toEqual(['refused', 'refused', 'refused', 'refused']);
  const used = iterations.map(({ hyperparameters }) => hyperparameters.learningRate ?? 1);
  expect(used).toEqual([1, 0.5, 0.3, 0.3]);
  expect(state).toMatchObject({ status: 'completed', refusedUpdates: 4 });
  expect((await metaOf('overflowing')).refusedUpdates).toBe(4);
});
