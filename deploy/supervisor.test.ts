import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identify, isRunning } from './supervision/process-identity.ts';
import { ProcessRegister, recordedProcesses } from './supervision/process-register.ts';
import { Supervisor, type ProcessSpec, type SupervisorEvent } from './supervisor.ts';
import { stateFolder } from './home.ts';

let home: string;
let supervisor: Supervisor;

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'rekindle-supervisor-'));
  supervisor = new Supervisor(home, { firstDelay: 20, longestDelay: 80, settledAfter: 60_000, grace: 300 });
});

afterEach(async () => {
  await supervisor.stop();
  await rm(home, { recursive: true, force: true });
});

function script(name: string, code: string): ProcessSpec {
  return { name, command: process.execPath, args: ['-e', code], logFile: path.join(home, `${name}.log`) };
}

const sleeper = (name: string): ProcessSpec => script(name, 'setInterval(() => {}, 1000)');

/** The next event of a kind; must be called before what causes it. */
function next<E extends SupervisorEvent['event']>(
  kind: E,
  observed: Supervisor = supervisor,
): Promise<Extract<SupervisorEvent, { event: E }>> {
  return new Promise((resolve) => {
    const forget = observed.subscribe((event) => {
      if (event.event !== kind) return;
      forget();
      resolve(event as Extract<SupervisorEvent, { event: E }>);
    });
  });
}

async function logHolds(spec: ProcessSpec, text: string): Promise<string> {
  return expect
    .poll(() => readFile(spec.logFile, 'utf8'), { timeout: 10_000, interval: 20 })
    .toContain(text)
    .then(() => readFile(spec.logFile, 'utf8'));
}

describe('Supervisor', () => {
  it('starts a killed process again, and its journal is the witness of the kill', async () => {
    const started = next('started');
    await supervisor.start(sleeper('worker'));
    const { pid } = await started;

    const restarted = next('started');
    process.kill(pid, 'SIGKILL');
    const second = await restarted;

    expect(second.pid).not.toBe(pid);
    expect(identify(pid)).toBeUndefined();
    expect(supervisor.status()).toEqual([{ name: 'worker', pid: second.pid, restarts: 1 }]);
    const journal = (await readFile(supervisor.journalFile, 'utf8')).trim().split('\n');
    expect(journal.map((line) => JSON.parse(line) as SupervisorEvent)).toMatchObject([
      { name: 'worker', event: 'started', pid },
      { name: 'worker', event: 'exited', pid, signal: 'SIGKILL' },
      { name: 'worker', event: 'restarting', restarts: 1, afterMs: 20 },
      { name: 'worker', event: 'started', pid: second.pid },
    ]);
  });

  it('goes on when its journal cannot be written, as on a full disk', async () => {
    await writeFile(stateFolder(home), 'a file where the folder should be');
    const started = next('started');
    await supervisor.start(sleeper('worker'));
    const { pid } = await started;

    const restarted = next('started');
    process.kill(pid, 'SIGKILL');
    expect((await restarted).pid).not.toBe(pid);
  });

  it('waits longer each time for a process that keeps dying, up to the longest wait', async () => {
    const waits: number[] = [];
    const enough = new Promise<void>((resolve) => {
      supervisor.subscribe((event) => {
        if (event.event === 'restarting' && waits.push(event.afterMs) === 4) resolve();
      });
    });
    await supervisor.start(script('crasher', 'process.exit(3)'));
    await enough;
    expect(waits).toEqual([20, 40, 80, 80]);
  });

  it('reports a command that does not exist instead of throwing', async () => {
    const exited = next('exited');
    await supervisor.start({ ...sleeper('missing'), command: path.join(home, 'no-such-program') });
    expect(await exited).toMatchObject({ pid: null, error: expect.stringContaining('ENOENT') as string });
  });

  it('lets a process end by itself on SIGTERM', async () => {
    const spec = script(
      'polite',
      `process.on('SIGTERM', () => { console.log('bye'); process.exit(0) }); setInterval(() => {}, 1000); console.log('ready')`,
    );
    await supervisor.start(spec);
    await logHolds(spec, 'ready');
    const exited = next('exited');
    await supervisor.stop();
    expect(await exited).toMatchObject({ code: 0, signal: null });
    expect(await readFile(spec.logFile, 'utf8')).toContain('bye');
    expect(supervisor.status()).toEqual([]);
  });

  it('kills a process that ignores SIGTERM, and the children it leaves', async () => {
    const spec = script(
      'stubborn',
      `process.on('SIGTERM', () => {});
       const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
       console.log('child=' + child.pid + ';'); setInterval(() => {}, 1000)`,
    );
    await supervisor.start(spec);
    const child = Number(/child=(\d+);/.exec(await logHolds(spec, ';'))![1]);
    const exited = next('exited');
    await supervisor.stop();
    expect(await exited).toMatchObject({ signal: 'SIGKILL' });
    await expect.poll(() => identify(child)).toBeUndefined();
  });

  it('never starts a process again once it was stopped while waiting for a restart', async () => {
    const restarting = next('restarting');
    await supervisor.start(script('crasher', 'process.exit(1)'));
    await restarting;
    await supervisor.stop();
    const journal = await readFile(supervisor.journalFile, 'utf8');
    expect(journal.trim().split('\n').at(-1)).toContain('"stopped"');
  });

  describe('replaces a process', () => {
    const announcing = (name: string, overlaps: boolean): ProcessSpec => ({
      ...script(name, `setTimeout(() => process.send('ready'), 50); setInterval(() => {}, 1000)`),
      announces: true,
      overlaps,
    });
    const order = (): Promise<string[]> =>
      readFile(supervisor.journalFile, 'utf8').then((text) =>
        text
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as SupervisorEvent).event),
      );

    it('that may overlap when the new one is ready', async () => {
      await supervisor.start(announcing('worker', true));
      await next('ready');
      const old = supervisor.status()[0]!.pid!;
      await supervisor.replace('worker');
      expect(await order()).toEqual(['started', 'ready', 'started', 'ready', 'exited', 'stopped']);
      expect(identify(old)).toBeUndefined();
      const status = supervisor.status();
      expect(status).toMatchObject([{ name: 'worker', restarts: 0 }]);
      expect(status[0]!.pid).not.toBe(old);
      expect([...recordedProcesses(stateFolder(home))]).toMatchObject([['worker', { pid: status[0]!.pid }]]);
    });

    it('that may not, before the new one starts', async () => {
      await supervisor.start(announcing('worker', false));
      await next('ready');
      await supervisor.replace('worker');
      expect(await order()).toEqual(['started', 'ready', 'exited', 'stopped', 'started', 'ready']);
    });

    it('until it is stopped with all others', async () => {
      await supervisor.start({ ...sleeper('worker'), announces: true });
      const replacing = expect(supervisor.replace('worker')).rejects.toThrow('did not get ready');
      await next('started');
      await supervisor.stop();
      await replacing;
      expect(supervisor.status()).toEqual([]);
    });

    it('and keeps the old one when the new one does not get ready', async () => {
      await supervisor.start({ ...sleeper('worker'), announces: true, overlaps: true });
      const { pid } = supervisor.status()[0]!;
      await expect(supervisor.replace('worker', 100)).rejects.toThrow('the new worker did not get ready');
      expect(supervisor.status()).toEqual([{ name: 'worker', pid, restarts: 0 }]);
      expect(identify(pid!)).toBeDefined();
    });
  });

  it('refuses a second process of the same name', async () => {
    await supervisor.start(sleeper('worker'));
    await expect(supervisor.start(sleeper('worker'))).rejects.toThrow('already supervised');
  });
});

describe('processes left by a killed supervisor', () => {
  /** A supervisor in a process of its own, killed after it has started `name`; the pid it left running. */
  async function leave(name: string): Promise<number> {
    const host = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    const orphan = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
      stdio: 'ignore',
      detached: true,
    });
    const identity = identify(orphan.pid!)!;
    await writeRegister({ supervisor: identify(host.pid!)!, processes: { [name]: identity } });
    expect(new ProcessRegister(stateFolder(home)).leftovers().size).toBe(0);
    host.kill('SIGKILL');
    await once(host, 'exit');
    return orphan.pid!;
  }

  async function writeRegister(register: unknown): Promise<void> {
    const { mkdir, writeFile } = await import('node:fs/promises');
    await mkdir(stateFolder(home), { recursive: true });
    await writeFile(path.join(stateFolder(home), 'processes.json'), JSON.stringify(register));
  }

  it('are ended when their name is started', async () => {
    const orphan = await leave('worker');
    const started = next('started');
    await supervisor.start(sleeper('worker'));
    expect((await started).pid).not.toBe(orphan);
    expect(identify(orphan)).toBeUndefined();
  });

  it('are taken over on request, restarted when they die, and stopped with the rest', async () => {
    const orphan = await leave('server');
    const started = next('started');
    await supervisor.start(sleeper('server'), { takeOver: true });
    expect(await started).toMatchObject({ pid: orphan, adopted: true });

    const restarted = next('started');
    process.kill(orphan, 'SIGKILL');
    const second = await restarted;
    expect(second).toMatchObject({ adopted: false });
    await supervisor.stop();
    expect(identify(second.pid)).toBeUndefined();
  });

  it('are not taken for ours when their pid now belongs to another process', async () => {
    const orphan = await leave('worker');
    const identity = identify(orphan)!;
    await writeRegister({
      supervisor: { pid: 1, born: 'before' },
      processes: { worker: { ...identity, born: 'before' } },
    });
    expect(supervisor.leftover('worker')).toBeUndefined();
    expect(isRunning(identity)).toBe(true);
    process.kill(orphan, 'SIGKILL');
  });

  it('are ended when nobody will start their name', async () => {
    const orphan = await leave('old-pool');
    await supervisor.endLeftovers(['worker']);
    expect(identify(orphan)).toBeUndefined();
  });
});
