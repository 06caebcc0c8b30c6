/** A folder that appears with all that is written into it, or not at all. */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { RekindleError } from '../../core/errors.ts';

/**
 * @param fill Writes into the folder that it is given, which then takes its place.
 * @returns the absolute path of the folder
 * @throws RekindleError UsageError when the folder exists and is not empty; whatever `fill` throws.
 */
export async function writeCompleteFolder(
  folder: string,
  fill: (partial: string) => Promise<void>,
): Promise<string> {
  const target = resolve(folder);
  await refuseUsedFolder(target);
  // Not mkdtemp, whose folders are closed to everyone else.
  const partial = join(dirname(target), `.${basename(target)}-${randomUUID()}`);
  try {
    await mkdir(partial, { recursive: true });
    await fill(partial);
    await rm(target, { recursive: true, force: true });
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
  return target;
}

async function refuseUsedFolder(folder: string): Promise<void> {
  const present = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new RekindleError('UsageError', `${folder} cannot be an export folder: ${error.message}`, {
      cause: error,
    });
  });
  if (present.length > 0) {
    throw new RekindleError('UsageError', `export folder ${folder} is not empty (it has ${present[0]})`, {
      hint: 'Name a folder that does not exist yet.',
    });
  }
}
