/** What keeps a run from going on is named, and what faults cost it is counted: on a real server, with workers that come and go. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workerProcesses } from '../../client/stack.ts';
import { stuckLine } from '../../core/stuck.ts';
import { metaSchema } from '../../core/records.ts';
import { Supervisor } from '../../deploy/supervisor.ts';
import { startStack, type TestStack } from '../harness/stack.ts';

describe('a run', () => {
  let stack: TestStack;
  let rollout: Supervisor;

  beforeAll(async () => {
    stack = await startStack([['control'], ['cpu', 'env'], ['train']]);
    rollout = new Supervisor(join(stack.home, 'second-supervisor'), { firstDelay: 50 });
  });
  afterAll(async () => {
    await rollout.stop();
    await stack.stop();
  });

  test('without a rollout worker says which queue nobody polls, and goes on when there is one', async () => {
    const run = await stack.rekindle.train('smoke', { run: 'waiting' });
    let found = await run.examine();
    while (found.length === 0) {
      await delay(500);
      found = await run.examine();
    }
    expect(found.map(stuckLine)).toEqual([
      expect.stringMatching(/no worker polls rekindle-rollout\. Start one: rekindle up --pools rollout/),
    ]);
    const settings = { address: stack.address, namespace: 'default', home: stack.home };
    for (const spec of workerProcesses([['rollout']], settings)) await rollout.start(spec);
    expect((await run.result()).status).toBe('completed');
    expect(await run.examine()).toEqual([]);
  });

  test('counts the death of a worker, what it took along, and how soon sampling went on', async () => {
    const run = await stack.rekindle.train('smoke', { run: 'killed' });
    while ((await run.status()).iteration < 1) await delay(50);
    process.kill(rollout.status()[0]!.pid!, 'SIGKILL');
    await run.result();
    const folder = join(stack.runsFolder, 'training', 'killed');
    const { faults } = metaSchema.parse(JSON.parse(await readFile(join(folder, 'meta.json'), 'utf8')));
    expect(faults).toMatchObject({ faults: { 'worker-killed': 1 } });
    expect(await readFile(join(folder, 'report.html'), 'utf8')).toContain('worker killed');
  });
}, 120_000);
