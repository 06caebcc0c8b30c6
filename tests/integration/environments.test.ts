/**
 * Episodes of several turns on a real server: both durabilities give the same trajectories for the same seeds, also when the
 * program of an environment, or the worker that holds it, is killed in the midst of an episode.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { trajectorySchema, type Trajectory } from '../../core/records.ts';
import { getJsonl } from '../../store/jsonl.ts';
import { committedEntries, recordedEvaluations } from '../../store/run-history.ts';
import { verifyRun } from '../../store/verify.ts';
import { startStack, type TestStack } from '../harness/stack.ts';

let stack: TestStack;

beforeAll(async () => {
  stack = await startStack([['control', 'cpu'], ['env'], ['rollout'], ['train']]);
}, 60_000);
afterAll(() => stack.stop());

/** All trajectories that a run committed, by iteration, group and sample. */
async function trajectoriesOf(run: string): Promise<Trajectory[]> {
  const found: Trajectory[] = [];
  for (const { trajectories } of await committedEntries(stack.store, run))
    for (const ref of trajectories) found.push(...(await getJsonl(stack.store, ref, trajectorySchema)));
  const position = ({ iteration, group, sample }: Trajectory) => iteration * 1e6 + group * 1e3 + sample;
  return found.sort((a, b) => position(a) - position(b));
}

/** The processes of programs that are registered now. */
async function programs(): Promise<number[]> {
  const folder = join(stack.home, '.rekindle', 'environments');
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith('.json')).map((name) => Number.parseInt(name));
}

async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat !== '' && !/\) Z /.test(stat);
}

async function firstProgram(): Promise<number> {
  for (;;) {
    const [pid] = await programs();
    if (pid !== undefined) return pid;
    await delay(5);
  }
}

test.each(['smoke-attempts', 'number-guess'])(
  'the episodes of %s are the same in both durabilities, and so are the weights',
  async (recipe) => {
    const [byShard, byTurn] = [`${recipe}-by-shard`, `${recipe}-by-turn`];
    const started = await Promise.all([
      stack.rekindle.train(recipe, { run: byShard, set: ['training.iterations=1'] }),
      stack.rekindle.train(recipe, {
        run: byTurn,
        set: ['training.iterations=1', 'rollout.durability=turn'],
      }),
    ]);
    const [shards, turns] = await Promise.all(started.map((run) => run.result()));
    const trajectories = await trajectoriesOf(byShard);
    expect(trajectories.filter((trajectory) => trajectory.turns.length > 1).length).toBeGreaterThan(10);
    expect(await trajectoriesOf(byTurn)).toEqual(trajectories);
    expect(turns!.weights).toBe(shards!.weights);
    expect(await recordedEvaluations(stack.store, byTurn)).toMatchObject(
      (await recordedEvaluations(stack.store, byShard)).map(({ accuracy }) => ({ accuracy })),
    );
    for (const run of [byShard, byTurn])
      expect(await verifyRun(stack.store, run)).toMatchObject({ ok: true, problems: [] });
  },
  90_000,
);

test('a program and the worker that holds it are killed in mid-episode: the same trajectories, and no orphan stays', async () => {
  const run = await stack.rekindle.train('number-guess', {
    run: 'killed',
    set: ['rollout.durability=turn', 'training.iterations=1'],
  });
  const first = await firstProgram();
  process.kill(first, 'SIGKILL');
  while (await isRunning(first)) await delay(5);
  const orphan = await firstProgram();
  const witness = await stack.kill('env');
  expect(witness?.signal).toBe('SIGKILL');
  await run.result();
  expect(await trajectoriesOf('killed')).toEqual(await trajectoriesOf('number-guess-by-shard'));
  expect(await isRunning(orphan)).toBe(false);
}, 90_000);
