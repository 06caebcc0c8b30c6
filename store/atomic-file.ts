/** Files and links of a run folder that are replaced as a whole: a reader sees the old one or the new one. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { RekindleError } from '../core/errors.ts';

/** Throws StoreError when the file cannot be written. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await replace(path, async (temporary) => {
    const file = await open(temporary, 'wx');
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  });
}

/** Points a symbolic link somewhere else. Throws StoreError when it cannot. */
export async function replaceLink(path: string, target: string): Promise<void> {
  await replace(path, (temporary) => symlink(target, temporary));
}

async function replace(path: string, create: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}-${randomUUID()}`);
  try {
    await mkdir(dirname(path), { recursive: true });
    await create(temporary);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new RekindleError('StoreError', `cannot write ${path}: ${String(error)}`, {
      hint: 'Check that the run folder can be written and that its disk has space.',
      cause: error,
    });
  }
}
