import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import { openLocalStore } from './open-local-store.ts';

it('gives a folder on the file system of the store and removes it, also when its use fails', async () => {
  const folder = scratchFolder();
  const store = openLocalStore(folder);
  let seen = '';
  const failing = store.withScratch(async (scratch) => {
    seen = scratch;
    await writeFile(join(scratch, 'file'), 'x');
    throw new Error('use failed');
  });
  await expect(failing).rejects.toThrow('use failed');
  expect(seen.startsWith(folder)).toBe(true);
  await expect(access(seen)).rejects.toThrow();
});
