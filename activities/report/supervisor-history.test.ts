import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { appendFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Supervisor } from '../../deploy/supervisor.ts';
import { readDeaths, supervisorJournalOf } from './supervisor-history.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'rekindle-history-'));
});
afterEach(() => rm(home, { recursive: true }));

it('tells the deaths that a real supervisor has seen from its stops, within the time of the run', async () => {
  const supervisor = new Supervisor(home, { firstDelay: 10 });
  const start = new Date().toISOString();
  const pids = new Promise<number[]>((resolve) => {
    const seen: number[] = [];
    supervisor.subscribe((event) => {
      if (event.event === 'started' && seen.push(event.pid) === 2) resolve(seen);
      else if (event.event === 'started') process.kill(event.pid, 'SIGKILL');
    });
  });
  await supervisor.start({
    name: 'worker-cpu',
    command: process.execPath,
    args: ['-e', 'setInterval(() => {}, 1000)'],
    logFile: path.join(home, 'worker.log'),
  });
  await pids;
  await supervisor.stop();

  const journal = supervisorJournalOf(path.join(home, 'runs', 'training', 'sums'));
  appendFileSync(journal, '{"at":"torn');
  expect(journal).toBe(supervisor.journalFile);
  const [killed] = await pids;
  expect(await readDeaths(journal, { start, end: null })).toEqual([
    { process: 'worker-cpu', pid: killed, how: 'SIGKILL', at: expect.any(Number) },
  ]);
  const earlier = { start: new Date(0).toISOString(), end: start };
  expect(await readDeaths(journal, earlier)).toEqual([]);
});

it('is empty where nothing is supervised', async () => {
  const journal = supervisorJournalOf(path.join(home, 'runs', 'training', 'sums'));
  expect(await readDeaths(journal, { start: new Date(0).toISOString(), end: null })).toEqual([]);
});
