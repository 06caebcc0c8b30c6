/** Pollers as a server lists them; that two homes on one server are refused was seen with real ones. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Connection } from '@temporalio/client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { refuseForeignWorkers } from './foreign-workers.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'rekindle-homes-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Checks home `mine` against a server that has these pollers on the queue of rollouts. */
function check(...identities: string[]): Promise<void> {
  const describeTaskQueue = ({ taskQueue }: { taskQueue: { name: string } }): Promise<object> =>
    Promise.resolve({
      pollers: taskQueue.name === 'rekindle-rollout' ? identities.map((identity) => ({ identity })) : [],
    });
  const workflowService = { describeTaskQueue } as unknown as Connection['workflowService'];
  const place = { address: '127.0.0.1:7233', namespace: 'default', home: path.join(folder, 'mine') };
  return refuseForeignWorkers({ workflowService }, place);
}

it('refuses a server whose living workers are those of another home, naming it and the ways out', async () => {
  const other = path.join(folder, 'other: one');
  await expect(check(`rekindle-rollout@${process.pid}:${other}`)).rejects.toMatchObject({
    kind: 'PortError',
    message: expect.stringContaining(`${other} (worker pid ${process.pid})`) as string,
    hint: expect.stringContaining('REKINDLE_TEMPORAL_PORT') as string,
  });
});

it('accepts workers of this home, workers that have ended, and pollers that are not ours', async () => {
  await check(
    `rekindle-rollout@${process.pid}:${path.join(folder, 'mine')}`,
    `rekindle-rollout@999999999:${path.join(folder, 'other')}`,
    `${process.pid}@some-host`,
  );
});

it('accepts workers of another home whose runs are a link to the same folder', async () => {
  for (const name of ['shared', 'mine', 'other']) mkdirSync(path.join(folder, name));
  for (const name of ['mine', 'other'])
    symlinkSync(path.join(folder, 'shared'), path.join(folder, name, 'runs'));
  await check(`rekindle-rollout@${process.pid}:${path.join(folder, 'other')}`);
});
