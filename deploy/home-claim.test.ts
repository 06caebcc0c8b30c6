import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimHome, findClaim } from './home-claim.ts';
import { stateFolder } from './home.ts';
import { identify } from './supervision/process-identity.ts';

const details = { address: null, pools: ['cpu'], store: 'runs/.store' };
let home: string;

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'rekindle-claim-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe('claimHome', () => {
  it('gives a home to the first and tells the second who has it', () => {
    const first = claimHome(home, details);
    first.held!.update({ address: '127.0.0.1:7233' });
    const second = claimHome(home, details);
    expect(second.held).toBeUndefined();
    expect(second.owner).toMatchObject({ pid: process.pid, address: '127.0.0.1:7233', pools: ['cpu'] });
    first.held!.release();
    expect(findClaim(home)).toBeUndefined();
    expect(claimHome(home, details).held).toBeDefined();
  });

  it('passes over the claim of a process that was killed', async () => {
    const owner = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    await mkdir(stateFolder(home));
    const claim = {
      ...identify(owner.pid!)!,
      host: hostname(),
      ...details,
      startedAt: new Date().toISOString(),
    };
    await writeFile(path.join(stateFolder(home), 'up.json'), JSON.stringify(claim));
    expect(claimHome(home, details).owner).toMatchObject({ pid: owner.pid });

    owner.kill('SIGKILL');
    await once(owner, 'exit');
    expect(findClaim(home)).toBeUndefined();
    expect(claimHome(home, details).held).toBeDefined();
    expect(await readdir(stateFolder(home))).toEqual(['up.json']);
  });

  it('leaves the claim of another host alone, and says whose it is and what to do', async () => {
    await mkdir(stateFolder(home));
    const claim = { pid: 1, born: '0', host: 'elsewhere', ...details, startedAt: new Date().toISOString() };
    await writeFile(path.join(stateFolder(home), 'up.json'), JSON.stringify(claim));
    expect(() => claimHome(home, details)).toThrow(/belongs to host elsewhere, where pid 1 /);
    expect(findClaim(home)).toBeUndefined();
    expect(await readdir(stateFolder(home))).toEqual(['up.json']);
  });

  it('passes over a claim that cannot be read', async () => {
    await mkdir(stateFolder(home));
    await writeFile(path.join(stateFolder(home), 'up.json'), '{"pid":');
    expect(claimHome(home, details).held).toBeDefined();
  });

  it('names the folder when it cannot be written', async () => {
    await writeFile(path.join(home, '.rekindle'), 'a file where the folder should be');
    expect(() => claimHome(home, details)).toThrow(/Cannot write .*\.rekindle/);
  });
});
