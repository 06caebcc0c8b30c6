/** Scheduling modes on a real server: that work overlaps, that it changes no result where none may change, and that its bounds hold. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workflowIds } from '../../core/ids.ts';
import { trajectorySchema, type LogEntry, type Trajectory } from '../../core/records.ts';
import { resumedSeed } from '../../core/seeds.ts';
import { sampleSeed } from '../../activities/rollout/sampling.ts';
import { getJsonl } from '../../store/jsonl.ts';
import { committedEntries } from '../../store/run-history.ts';
import { verifyRun } from '../../store/verify.ts';
import { bundleTestProgram } from '../harness/bundle-script.ts';
import { pacedToken } from '../harness/paced-engine.ts';
import { startStack, type TestStack, type Victim } from '../harness/stack.ts';

const audited = { ok: true, tasks: { skipped: 0, duplicated: 0 }, doubleSteps: 0, problems: [] };

async function trajectoriesOf(stack: TestStack, entries: LogEntry[]): Promise<Trajectory[]> {
  const refs = entries.flatMap(({ trajectories }) => trajectories);
  return (await Promise.all(refs.map((ref) => getJsonl(stack.store, ref, trajectorySchema)))).flat();
}

async function iterationsOf(stack: TestStack, run: string): Promise<LogEntry[]> {
  return (await committedEntries(stack.store, run)).filter(({ kind }) => kind === 'reinforcement');
}

describe('one-step-off', () => {
  let stack: TestStack;
  const set = ['schedule.mode=one-step-off', 'schedule.iterationsPerHistory=20'];
  let weights: string | null;

  beforeAll(async () => {
    stack = await startStack();
    const alone = await stack.rekindle.train('smoke', { run: 'alone', set });
    await stack.rekindle.train('smoke', { run: 'sync' });
    await stack.rekindle.train('smoke', {
      run: 'histories',
      set: [set[0]!, 'schedule.iterationsPerHistory=1'],
    });
    weights = (await alone.result()).weights;
  });
  afterAll(() => stack.stop());

  test('begins each iteration before the one before has committed, with the policy before that', async () => {
    const connection = await Connection.connect({ address: stack.address });
    const { events } = await new Client({ connection }).workflow
      .getHandle(workflowIds.train('alone'))
      .fetchHistory();
    await connection.close();
    const order = (events ?? []).flatMap((event) => {
      const begun = event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId;
      const ended = event.childWorkflowExecutionCompletedEventAttributes?.workflowExecution?.workflowId;
      const [what, id] = begun ? ['begun', begun] : ['ended', ended];
      const iteration = /-it-(\d+)$/.exec(id ?? '')?.[1];
      return iteration === undefined ? [] : [`${what} ${iteration}`];
    });
    expect(order).toEqual([
      ...['begun 1', 'begun 2', 'ended 1', 'begun 3', 'ended 2', 'begun 4', 'ended 3', 'ended 4'],
    ]);
    const iterations = await iterationsOf(stack, 'alone');
    expect(iterations.map(({ metrics }) => metrics['staleness/max'])).toEqual([0, 1, 1, 1]);
    expect(await verifyRun(stack.store, 'alone', { finished: true })).toMatchObject(audited);
  });

  test('ends in other weights than sync, which learns from what the newest policy sampled', async () => {
    const sync = await stack.rekindle.run('sync').result();
    expect(sync.weights).not.toBe(weights);
  });

  test('ends in the same bytes when its history is continued as new in between', async () => {
    expect((await stack.rekindle.run('histories').result()).weights).toBe(weights);
  });

  test('ends in the same bytes under kills of those who roll out, learn and orchestrate', async () => {
    const run = await stack.rekindle.train('smoke', { run: 'killed', set });
    const signals: (string | undefined)[] = [];
    const victims: Victim[] = ['rollout', 'control', 'train'];
    for (const [i, victim] of victims.entries()) {
      while ((await iterationsOf(stack, 'killed')).length < i) await delay(20);
      await delay(100 + 70 * i);
      signals.push((await stack.kill(victim))?.signal);
    }
    expect((await run.result()).weights).toBe(weights);
    expect(new Set(signals)).toEqual(new Set(['SIGKILL']));
    expect(await verifyRun(stack.store, 'killed', { finished: true })).toMatchObject(audited);
  });

  test('stopped and started again uses what it had rolled out ahead, and ends in the same bytes', async () => {
    const first = await stack.rekindle.train('smoke', { run: 'halted', set });
    while ((await iterationsOf(stack, 'halted')).length < 1) await delay(20);
    await first.stop();
    expect(await first.result()).toMatchObject({ status: 'stopped' });
    expect(await verifyRun(stack.store, 'halted')).toMatchObject(audited);
    const again = await stack.rekindle.train('smoke', { run: 'halted', set });
    expect((await again.result()).weights).toBe(weights);
    expect(await verifyRun(stack.store, 'halted', { finished: true })).toMatchObject(audited);
  });
}, 120_000);

describe('async', () => {
  let stack: TestStack;
  let scratch: string;
  const set = [
    ...['warmStart=null', 'evaluation=null', 'schedule.mode=async', 'schedule.iterationsPerHistory=20'],
    ...['model.initialize.maxPositions=64', 'rollout.maxNewTokens=24', 'training.iterations=5'],
    ...['rewards=[{kind: format, pattern: "^[a-m]"}]', 'rollout.tasksPerShard=8'],
  ];
  const runs: Record<string, string[]> = {
    bound: ['schedule.maxStaleness=2'],
    'late-resume': ['schedule.maxStaleness=1', 'schedule.stragglerSeconds=0.6', 'schedule.stragglers=resume'],
    'late-drop': ['schedule.maxStaleness=1', 'schedule.stragglerSeconds=0.6', 'schedule.stragglers=drop'],
    'over-stale-drop': ['schedule.maxStaleness=0', 'schedule.lookahead=2', 'schedule.overStale=drop'],
    'over-stale-correct': ['schedule.maxStaleness=0', 'schedule.lookahead=2', 'schedule.overStale=correct'],
    'by-turn': [
      'schedule.maxStaleness=1',
      'rollout.durability=turn',
      'rollout.tasksPerIteration=8',
      'training.minibatchRows=32',
      'training.iterations=3',
    ],
  };
  const end = (run: string) => stack.rekindle.run(run).result();

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'rekindle-test-'));
    const worker = fileURLToPath(new URL('../harness/paced-worker.ts', import.meta.url));
    stack = await startStack(
      [['control', 'cpu', 'env'], ['rollout'], ['train']],
      ['--enable-source-maps', await bundleTestProgram(worker, scratch)],
      { PACED_TOKEN_SECONDS: '0.02', PACED_STEP_SECONDS: '0.1' },
    );
    for (const [run, more] of Object.entries(runs))
      await stack.rekindle.train('smoke', { run, set: [...set, ...more] });
  });
  afterAll(async () => {
    await stack.stop();
    await rm(scratch, { recursive: true });
  });

  test('rolls out ahead with the newest policy, and nothing is older than the bound', async () => {
    while ((await iterationsOf(stack, 'bound')).length < 2) await delay(20);
    expect((await stack.kill('rollout'))?.signal).toBe('SIGKILL');
    await end('bound');
    const ages = (await iterationsOf(stack, 'bound')).map(({ metrics }) => metrics['staleness/max'] ?? 0);
    expect(Math.max(...ages)).toBeGreaterThan(0);
    expect(Math.max(...ages)).toBeLessThanOrEqual(2);
    expect(await verifyRun(stack.store, 'bound', { finished: true })).toMatchObject(audited);
  });

  test('holds its bound with episodes that are workflows, too', async () => {
    await end('by-turn');
    const ages = (await iterationsOf(stack, 'by-turn')).map(({ metrics }) => metrics['staleness/max'] ?? 0);
    expect(Math.max(...ages)).toBeLessThanOrEqual(1);
    expect(await verifyRun(stack.store, 'by-turn', { finished: true })).toMatchObject(audited);
  });

  test.each(['resume', 'drop'])('what is late goes on or is dropped: %s', async (then) => {
    const name = `late-${then}`;
    await end(name);
    expect(await verifyRun(stack.store, name, { finished: true })).toMatchObject(audited);
    const entries = await iterationsOf(stack, name);
    const dropped = (await trajectoriesOf(stack, entries)).filter(({ outcome }) => outcome === 'dropped');
    const segments = (await stack.store.listResults(name, 'iteration-')).filter((key) =>
      /segment-\d+$/.test(key),
    );
    if (then === 'resume') {
      expect(dropped).toEqual([]);
      expect(segments.length).toBeGreaterThan(0);
    } else {
      expect(dropped.length).toBeGreaterThan(0);
      expect(new Set(dropped.map(({ reason }) => reason))).toEqual(new Set(['straggler']));
      expect(segments).toEqual([]);
      const counted = entries.reduce((sum, { metrics }) => sum + metrics['rollout/stragglers_dropped']!, 0);
      expect(counted).toBe(dropped.length);
    }
  });

  test.each(['drop', 'correct'])(
    'rows older than the bound, which a larger lookahead makes: %s',
    async (then) => {
      const name = `over-stale-${then}`;
      await end(name);
      expect(await verifyRun(stack.store, name, { finished: true })).toMatchObject(audited);
      const entries = await iterationsOf(stack, name);
      const total = (metric: string) => entries.reduce((sum, { metrics }) => sum + (metrics[metric] ?? 0), 0);
      const dropped = entries.reduce((sum, { outcomes }) => sum + (outcomes.dropped ?? 0), 0);
      expect(total('staleness/dropped')).toBe(dropped);
      if (then === 'drop') expect(dropped).toBeGreaterThan(0);
      else {
        expect(dropped).toBe(0);
        expect(total('staleness/corrected')).toBeGreaterThan(0);
        expect(
          Math.max(...entries.map(({ metrics }) => metrics['staleness/importance'] ?? 0)),
        ).toBeGreaterThan(0);
      }
    },
  );

  test('a response that newer weights interrupt goes on after the tokens that are there', async () => {
    await Promise.all(Object.keys(runs).map(end)); // alone, its versions come while it generates
    const more = ['schedule.maxStaleness=2', 'schedule.interrupt=true'];
    await stack.rekindle.train('smoke', { run: 'interrupted', set: [...set, ...more] });
    await end('interrupted');
    expect(await verifyRun(stack.store, 'interrupted', { finished: true })).toMatchObject(audited);
    const entries = await committedEntries(stack.store, 'interrupted');
    const interrupted = (await trajectoriesOf(stack, entries)).filter(
      ({ turns }) => turns[0]!.spans.length > 1,
    );
    expect(interrupted.length).toBeGreaterThan(0);
    for (const { iteration, group, sample, turns } of interrupted) {
      const { responseIds, spans } = turns[0]!;
      const seed = sampleSeed(1, iteration, group, sample, 0);
      const sampled = spans.flatMap(({ version, tokens }, i) => {
        const before = spans.slice(0, i).reduce((sum, span) => sum + span.tokens, 0);
        const own = before === 0 ? seed : resumedSeed(seed, before);
        const { hash } = entries[version]!.weights;
        return Array.from({ length: tokens }, (_, position) => pacedToken(hash, own, position));
      });
      expect(responseIds).toEqual(sampled);
    }
  });
}, 120_000);
