import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tinyConfig, writeTinyModel } from '../../tests/fixtures/tiny-model.ts';
import { exportModel } from './export.ts';
import { openModelFolder } from './model-folder.ts';
import { openWeightFiles } from './weight-files.ts';

let root: string;
let source: Awaited<ReturnType<typeof openModelFolder>>;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rekindle-export-'));
  await writeTinyModel(join(root, 'source'));
  source = await openModelFolder(join(root, 'source'));
});
afterEach(() => rm(root, { recursive: true }));

describe('exportModel', () => {
  it.each(['new', 'below/another', 'empty'])('writes a whole model folder to %s', async (name) => {
    await mkdir(join(root, 'empty'));
    const folder = await exportModel({ ...source, folder: join(root, name) });
    expect(await readdir(folder)).toEqual(await readdir(join(root, 'source')));
    expect((await openModelFolder(folder)).config).toEqual(tinyConfig);
    const weights = await readFile(join(folder, 'model.safetensors'));
    expect(weights.equals(await readFile(source.weightsPath))).toBe(true);
  });

  it('gives folder and files the modes of any new ones, though stored weights are read-only', async () => {
    await chmod(source.weightsPath, 0o400);
    const folder = await exportModel({ ...source, folder: join(root, 'new') });
    const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
    const umask = process.umask();
    expect(await mode(folder)).toBe(0o777 & ~umask);
    for (const name of await readdir(folder)) expect(await mode(join(folder, name))).toBe(0o666 & ~umask);
  });

  it('refuses a folder with something in it, and leaves that alone', async () => {
    const folder = join(root, 'used');
    await mkdir(folder);
    await writeFile(join(folder, 'notes.txt'), 'mine');
    await expect(exportModel({ ...source, folder })).rejects.toMatchObject({ kind: 'UsageError' });
    expect(await readdir(folder)).toEqual(['notes.txt']);
  });

  it('leaves nothing behind when it fails', async () => {
    const absent = join(root, 'absent.safetensors');
    await expect(
      exportModel({ ...source, folder: join(root, 'new'), openWeights: () => openWeightFiles(absent) }),
    ).rejects.toThrow('ENOENT');
    expect(await readdir(root)).toEqual(['source']);
  });
});
