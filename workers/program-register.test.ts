import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { identify } from '../deploy/supervision/process-identity.ts';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { ProgramFolder } from './program-register.ts';

const loader = fileURLToPath(new URL('../tests/harness/typescript-loader.mjs', import.meta.url));
const module = (path: string) => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));
const labels = { run: 'r', episode: 'iteration-000001/episode-000000-0000' };
const strays: number[] = [];

afterEach(() => {
  for (const pid of strays.splice(0)) if (identify(pid)) process.kill(pid, 'SIGKILL');
});

/** A worker of its own whose environment is a program that does not end with its input. */
async function startWorker(home: string): Promise<{ worker: number; program: number }> {
  const source = `
    const { LivePrograms } = await import(${module('../activities/environment/command/live-programs.ts')});
    const { ProgramFolder } = await import(${module('./program-register.ts')});
    const { program } = new LivePrograms(new ProgramFolder(${JSON.stringify(home)}))
      .start(['sleep', '1000'], ${JSON.stringify(labels)});
    console.log(program.pid);
    setInterval(() => undefined, 1000);`;
  const worker = spawn(process.execPath, ['--import', loader, '--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const program = await new Promise<number>((resolve) =>
    worker.stdout.once('data', (line: Buffer) => resolve(Number(line.toString()))),
  );
  strays.push(worker.pid!, program);
  return { worker: worker.pid!, program };
}

it('programs are ended when their worker was killed, and only then', async () => {
  const home = scratchFolder();
  const { worker, program } = await startWorker(home);
  const register = new ProgramFolder(home);
  expect(register.entries()).toMatchObject([
    { ...labels, program: { pid: program }, worker: { pid: worker } },
  ]);
  register.reap();
  expect(identify(program)).toBeDefined();

  process.kill(worker, 'SIGKILL');
  await expect.poll(() => identify(worker)).toBeUndefined();
  expect(identify(program), 'witness: the program outlives its worker').toBeDefined();
  register.reap();
  await expect.poll(() => identify(program)).toBeUndefined();
  expect(register.entries()).toEqual([]);
});

it('a process that has been given the pid of a program since is left alone', async () => {
  const home = scratchFolder();
  const register = new ProgramFolder(home);
  const bystander = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  strays.push(bystander.pid!);
  mkdirSync(join(home, 'environments'));
  const dead = { pid: bystander.pid!, born: '1' };
  const entry = { ...labels, program: dead, worker: { pid: process.pid, born: '1' } };
  writeFileSync(join(home, 'environments', `${bystander.pid}.json`), JSON.stringify(entry));
  register.reap();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(identify(bystander.pid!)).toBeDefined();
  expect(register.entries()).toEqual([]);
});
