/** A whole run on a real Temporal server and real workers: started, watched, steered and refused in every way that users have. */
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openedRun } from '../../activities/run/opening.ts';
import { weightsSource } from '../../activities/weights/weights-source.ts';
import { processPools } from '../../client/stack.ts';
import { workflowIds } from '../../core/ids.ts';
import { metaSchema } from '../../core/records.ts';
import { provisionTemporal, sourceContext } from '../../deploy/temporal/provision.ts';
import { openPolicyWeights } from '../../gpu/adapters/merged-weights.ts';
import type { StoredTensors } from '../../gpu/model/stored-tensors.ts';
import { openWeightFiles } from '../../gpu/model/weight-files.ts';
import { committedEntries } from '../../store/run-history.ts';
import { verifyRun } from '../../store/verify.ts';
import { writeTinyModel } from '../fixtures/tiny-model.ts';
import { startStack, type TestStack } from '../harness/stack.ts';

const run = promisify(execFile);
const bundle = new URL('../../dist/workflow-bundle.js', import.meta.url).pathname;

describe('a training run', () => {
  let stack: TestStack;
  let client: Client;

  beforeAll(async () => {
    stack = await startStack(processPools);
    client = new Client({ connection: await Connection.connect({ address: stack.address }) });
  });
  afterAll(async () => {
    await client.connection.close();
    await stack.stop();
  });

  test('starts with `temporal workflow start` alone, and its result, meta.json, report and metrics agree', async () => {
    const { path: temporal } = await provisionTemporal(sourceContext(() => undefined));
    const input = '{"recipe":"smoke"}';
    await run(temporal, [
      ...[
        'workflow',
        'start',
        '--address',
        stack.address,
        '--type',
        'trainRun',
        '--workflow-id',
        'train-by-hand',
      ],
      ...['--task-queue', 'rekindle-control', '--input', input],
    ]);
    const state = await stack.rekindle.run('by-hand').result();
    expect(state).toMatchObject({ status: 'completed', iteration: 4, iterations: 4, recipe: 'smoke' });

    const folder = join(stack.runsFolder, 'training', 'by-hand');
    const meta = metaSchema.parse(JSON.parse(await readFile(join(folder, 'meta.json'), 'utf8')));
    expect(meta).toMatchObject({
      runId: 'by-hand',
      status: 'completed',
      policyVersion: state.policyVersion,
      weights: state.weights,
      evaluation: { before: state.evaluation.before, after: state.evaluation.latest },
    });
    expect(await readFile(join(folder, 'report.html'), 'utf8')).toContain('by-hand');
    const metrics = (await readFile(join(folder, 'metrics', 'metrics.jsonl'), 'utf8')).trim().split('\n');
    const entries = await committedEntries(stack.store, 'by-hand');
    expect(metrics).toHaveLength(entries.length + 4); // versions, evaluations, faults
    expect(entries.some((entry) => entry.kind === 'reinforcement' && entry.update === 'applied')).toBe(true);
  });

  test('replays from its recorded histories: the workflows are deterministic', async () => {
    const ids = ['by-hand'].flatMap((name) => [
      workflowIds.train(name),
      workflowIds.warmStart(name, 1),
      workflowIds.iteration(name, 1),
      workflowIds.evaluation(name, 2),
    ]);
    for (const id of ids) {
      const history = await client.workflow.getHandle(id).fetchHistory();
      await Worker.runReplayHistory({ workflowBundle: { codePath: bundle } }, history, id);
    }
  });

  test('can be found in the list by its search attributes', async () => {
    const found: string[] = [];
    for (let tries = 0; tries < 20 && found.length === 0; tries++) {
      for await (const { workflowId } of client.workflow.list({
        query: "RekindleRun = 'by-hand' AND RekindlePhase = 'completed' AND RekindlePolicyVersion > 0",
      })) {
        found.push(workflowId);
      }
      if (found.length === 0) await delay(250);
    }
    expect(found).toEqual(['train-by-hand']);
  });

  test('is refused a second time under the same id', async () => {
    await expect(stack.rekindle.train('smoke', { run: 'by-hand' })).rejects.toMatchObject({
      kind: 'RunExistsError',
    });
  });

  test('pauses, takes new hyperparameters, resumes and stops, each at an iteration', async () => {
    const handle = await stack.rekindle.train('smoke', { run: 'steered', set: ['training.iterations=200'] });
    while ((await handle.status()).iteration < 1) await delay(50);
    await handle.pause();
    while ((await handle.status()).currentChild !== null) await delay(50);
    const paused = await handle.status();
    expect(paused.status).toBe('paused');
    await delay(500);
    expect((await handle.status()).iteration).toBe(paused.iteration);

    await expect(handle.setHyperparameters({ learningRate: -1 })).rejects.toThrow(
      'expected a positive number',
    );
    await expect(handle.setHyperparameters({ klCoefficient: 0.1 })).rejects.toThrow('no effect');
    await handle.setHyperparameters({ learningRate: 1e-5 });
    await handle.resume();
    while ((await handle.status()).iteration < paused.iteration + 1) await delay(50);
    await handle.stop('enough');
    const state = await handle.result();
    expect(state.status).toBe('stopped');

    const entries = await committedEntries(stack.store, 'steered');
    const [before, after] = [paused.iteration, paused.iteration + 1].map((iteration) =>
      entries.find((entry) => entry.kind === 'reinforcement' && entry.iteration === iteration),
    );
    expect(before?.hyperparameters).toEqual({});
    expect(after?.hyperparameters).toEqual({ learningRate: 1e-5 });
    const meta: unknown = JSON.parse(
      await readFile(join(stack.runsFolder, 'training', 'steered', 'meta.json'), 'utf8'),
    );
    expect(meta).toMatchObject({ status: 'stopped', reason: 'enough' });
    expect(await verifyRun(stack.store, 'steered')).toMatchObject({ ok: true });
  });

  test('that is cancelled in Temporal closes its folder', async () => {
    const handle = await stack.rekindle.train('smoke', {
      run: 'cancelled',
      set: ['training.iterations=200'],
    });
    while ((await handle.status()).iteration < 1) await delay(50);
    await client.workflow.getHandle('train-cancelled').cancel();
    await expect(handle.result()).rejects.toThrow();
    const meta: unknown = JSON.parse(
      await readFile(join(stack.runsFolder, 'training', 'cancelled', 'meta.json'), 'utf8'),
    );
    expect(meta).toMatchObject({ status: 'stopped', reason: 'the workflow was cancelled' });
  });

  test('with a recipe that does not exist fails with the message of the recipe, and nothing is left half-done', async () => {
    const handle = await stack.rekindle.train('no-such-recipe', { run: 'nothing' });
    await expect(handle.result()).rejects.toMatchObject({ kind: 'RecipeError' });
    expect(await stack.store.head('nothing')).toBeUndefined();
  });

  test('under its id after the loss of all of Temporal goes on from the head of the commit log', async () => {
    const handle = await stack.rekindle.train('smoke', { run: 'lost', set: ['training.iterations=3'] });
    while ((await handle.status()).iteration < 1) await delay(50);
    await client.workflow.getHandle('train-lost').terminate('as if the database were gone');
    const other = await stack.rekindle.train('smoke', { run: 'lost', set: ['training.iterations=4'] });
    await expect(other.result()).rejects.toMatchObject({ kind: 'RunExistsError' });
    const again = await (
      await stack.rekindle.train('smoke', { run: 'lost', set: ['training.iterations=3'] })
    ).result();
    const whole = await (
      await stack.rekindle.train('smoke', { run: 'whole', set: ['training.iterations=3'] })
    ).result();
    expect(again.weights).toBe(whole.weights);
    expect(await verifyRun(stack.store, 'lost')).toMatchObject({ ok: true, doubleSteps: 0 });
  });

  test('of the gsm8k recipe trains some iterations on a tiny model folder and a local file', async () => {
    const model = join(stack.home, 'tiny-model');
    const data = join(stack.home, 'problems.jsonl');
    await writeTinyModel(model);
    const problems = Array.from({ length: 40 }, (_, i) => ({
      question: `Ada has ${i + 2} pens and buys ${i + 3} more. How many pens has she?`,
      answer: `She has ${i + 2} + ${i + 3} pens.\n#### ${2 * i + 5}`,
    }));
    await writeFile(data, problems.map((problem) => `${JSON.stringify(problem)}\n`).join(''));
    const state = await (
      await stack.rekindle.train('gsm8k', {
        run: 'word-problems',
        set: [
          `model={path: ${model}}`,
          `data.train={source: gsm8k, path: ${data}}`,
          'data.evaluation=null',
          'rewards=[{kind: math-answer}, {kind: format, weight: 0.5, pattern: "[a-m]"}]',
          'rollout.tasksPerIteration=4',
          'rollout.groupSize=4',
          'rollout.tasksPerShard=2',
          'rollout.maxNewTokens=8',
          'training.iterations=2',
          'training.minibatchRows=8',
          'evaluation.tasks=2',
          'evaluation.every=1',
        ],
      })
    ).result();
    expect(state).toMatchObject({ status: 'completed', iteration: 2, policyVersion: 2 });
    const entries = await committedEntries(stack.store, 'word-problems');
    expect(entries.at(-1)?.metrics['policy/reference_kl']).toBeGreaterThanOrEqual(0);
    expect(await verifyRun(stack.store, 'word-problems')).toMatchObject({ ok: true });
    await rm(model, { recursive: true });
  });

  test('with an adapter commits adapters alone, and exports them merged or as they are', async () => {
    const adapter = { rank: 4, alpha: 8, targets: ['q_proj', 'down_proj'] as const, rankStabilized: false };
    const set = [
      `adapter=${JSON.stringify(adapter)}`,
      'warmStart.maxSteps=4',
      'training.iterations=1',
      'evaluation=null',
    ];
    await (await stack.rekindle.train('smoke', { run: 'adapted', set })).result();
    const opened = await openedRun(stack.store, 'adapted');
    const { weights } = (await committedEntries(stack.store, 'adapted')).at(-1)!;
    const source = await weightsSource(stack.store, opened, weights);
    const merged = await openPolicyWeights(opened.config, source);
    const base = await openWeightFiles(source.base!.path);
    const pairs = await openWeightFiles(source.path);
    const read = async (from: StoredTensors, name: string): Promise<Float32Array> => {
      const values = new Float32Array(from.tensors.get(name)!.shape.reduce((a, b) => a * b, 1));
      await from.readInto(name, values);
      return values;
    };

    expect(pairs.tensors.size).toBe(2 * adapter.targets.length * opened.config.layers);
    const module = 'model.layers.0.self_attn.q_proj';
    const [w, before, a, b] = await Promise.all([
      read(merged, `${module}.weight`),
      read(base, `${module}.weight`),
      read(pairs, `base_model.model.${module}.lora_A.weight`),
      read(pairs, `base_model.model.${module}.lora_B.weight`),
    ]);
    expect(b.some((value) => value !== 0)).toBe(true);
    const width = opened.config.hiddenSize;
    w.forEach((value, i) => {
      const [row, column] = [Math.floor(i / width), i % width];
      let product = 0;
      for (let r = 0; r < adapter.rank; r++) product += b[row * adapter.rank + r]! * a[r * width + column]!;
      expect(value).toBeCloseTo(before[i]! + 2 * product, 5);
    });
    const [gate, gateBefore] = await Promise.all(
      [merged, base].map((from) => read(from, 'model.layers.0.mlp.gate_proj.weight')),
    );
    expect(gate).toEqual(gateBefore);
    await Promise.all([merged.close(), base.close(), pairs.close()]);
  });
});
