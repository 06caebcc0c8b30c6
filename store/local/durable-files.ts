/**
 * Files that appear under their name complete or not at all, and stay there after a power failure.
 *
 * Two fsyncs for each, and no fewer would do: the data before the name (or the name could outlive its data), and the
 * folder before the caller is told (or a name that others already act on could be lost). Temporary names need none.
 * A name is given with link(2), which creates it if it is absent and tells when it is not, in one step.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, open, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from './faults.ts';

/** A name in the temporary folder that no other process uses. */
export function temporaryName(folder: string): string {
  return join(folder, `${process.pid}-${randomUUID()}`);
}

/** Makes a folder and its missing parents, durably. (Node's recursive mkdir hides why it failed.) */
async function makeFolder(folder: string): Promise<void> {
  const made = await makeOne(folder, async () => {
    await makeFolder(dirname(folder));
    return makeOne(folder);
  });
  if (made) await syncFolder(dirname(folder));
}

/** Returns whether this call made the folder; without a parent, what `orphan` does instead. */
async function makeOne(folder: string, orphan?: () => Promise<boolean>): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    if (errorCode(error) === 'ENOENT' && orphan !== undefined) return orphan();
    throw error;
  }
}

/** Runs work that creates a name in a folder; makes the folder when that was what failed. */
export async function inFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    await makeFolder(folder);
    return work();
  }
}

async function writeDurably(path: string, data: Uint8Array | string): Promise<void> {
  const file = await inFolder(dirname(path), () => open(path, 'wx', 0o444));
  try {
    await file.writeFile(data);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Gives a durably written file its final name unless that name is taken, and removes the old name.
 * Returns whether this call gave the name. Either way the name is on disk when it returns.
 */
export async function publish(temporary: string, final: string): Promise<boolean> {
  const folder = dirname(final);
  const created = await inFolder(folder, () => linkIfAbsent(temporary, final));
  await syncFolder(folder);
  await removeQuietly(temporary);
  return created;
}

/** Creates a file with this content unless its name is taken; returns whether it did. A failure leaves nothing. */
export async function createIfAbsent(
  final: string,
  data: Uint8Array | string,
  temporaryFolder: string,
): Promise<boolean> {
  const temporary = temporaryName(temporaryFolder);
  try {
    await writeDurably(temporary, data);
    return await publish(temporary, final);
  } catch (error) {
    await removeQuietly(temporary);
    throw error;
  }
}

async function linkIfAbsent(existing: string, name: string): Promise<boolean> {
  try {
    await link(existing, name);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

async function syncFolder(folder: string): Promise<void> {
  await withFile(folder, (file) => file.sync());
}

export async function withFile<T>(path: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, 'r');
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

/** Removes a name that only costs space; what cannot be removed now goes when old leftovers are swept. */
export async function removeQuietly(path: string): Promise<void> {
  await unlink(path).catch(() => undefined);
}
