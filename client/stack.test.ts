import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { claimHome } from '../deploy/home-claim.ts';
import { openStack } from './stack.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'rekindle-stack-'));
});
afterEach(() => rm(home, { recursive: true }));

it('refuses an address that is not the one of the stack that runs in the home, naming both', async () => {
  const { held } = claimHome(home, { address: '127.0.0.1:7777', pools: ['cpu'], store: 'runs/.store' });
  const opened = openStack({
    settings: { address: 'temporal.example.com:7233', namespace: 'default', home },
    address: 'temporal.example.com:7233',
    pools: ['cpu'],
    say: () => undefined,
    signal: new AbortController().signal,
  });
  await expect(opened).rejects.toMatchObject({
    kind: 'UsageError',
    message: expect.stringMatching(/temporal\.example\.com:7233 .*127\.0\.0\.1:7777/) as string,
    hint: expect.stringContaining('--home') as string,
  });
  held!.release();
});
