/** Free space where a home is, or will be. */
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { RekindleError } from '../core/errors.ts';
import { formatBytes } from './render-plan.ts';

/** What a server, its logs and the smallest run need; without it they would fail halfway. */
export const leastToStart = 64 * 2 ** 20;

/** Free bytes, and the folder they were asked of: the home, or the closest one above it that exists. */
export async function freeSpace(home: string): Promise<{ folder: string; free: number }> {
  const folder = await nearestFolder(home);
  const { bavail, bsize } = await statfs(folder);
  return { folder, free: bavail * bsize };
}

/** Throws StoreError when fewer bytes than `least` are free. */
export async function requireSpace(home: string, least = leastToStart): Promise<void> {
  const { folder, free } = await freeSpace(home);
  if (free >= least) return;
  throw new RekindleError(
    'StoreError',
    `the disk of ${folder} is full: ${formatBytes(free)} free, expected at least ${formatBytes(least)}`,
    { hint: 'Free some space, or choose another disk with --home.' },
  );
}

async function nearestFolder(folder: string): Promise<string> {
  const exists = await statfs(folder).then(
    () => true,
    () => false,
  );
  return exists || path.dirname(folder) === folder ? folder : nearestFolder(path.dirname(folder));
}
