import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { lockDevice } from './device-lock.ts';

const user = { home: '/srv/one', run: 'sums' };

it('a device is refused, with the name of its holder, until the process of the engine has ended', async () => {
  const folder = scratchFolder();
  const engine = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  onTestFinished(() => void engine.kill('SIGKILL'));
  const lock = lockDevice('cuda', user, folder);
  lock.started(engine.pid!);
  expect(() => lockDevice('cuda', { ...user, run: 'other' }, folder)).toThrow(
    `device cuda-0 is taken: engine process ${engine.pid} (worker ${process.pid}, home /srv/one, run sums)`,
  );
  lockDevice('webgpu', user, folder);

  engine.kill('SIGKILL');
  await once(engine, 'exit');
  const next = lockDevice('cuda', user, folder);
  next.ended();
  lockDevice('cuda', user, folder);
});
