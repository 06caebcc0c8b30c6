import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { commandLine } from './command-line.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'rekindle-path-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function install(...place: string[]): Promise<string> {
  const bin = path.join(folder, ...place);
  await mkdir(bin, { recursive: true });
  await writeFile(path.join(bin, 'rekindle'), '');
  return bin;
}

it('is the bare program when a shell finds it', async () => {
  const PATH = ['/nowhere', await install('bin')].join(path.delimiter);
  expect(commandLine('list', { PATH })).toBe('rekindle list');
});

it('goes through npx when only npx itself has put it on the PATH, or nothing has', async () => {
  expect(commandLine('list', { PATH: await install('node_modules', '.bin') })).toBe('npx rekindle list');
  expect(commandLine('list', {})).toBe('npx rekindle list');
});
