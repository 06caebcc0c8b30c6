/**
 * The user-wide cache of Temporal programs. A program is prepared in a folder of its own and moved into place by one
 * rename, so that several processes may provision at once and nobody ever sees half a file.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { checkProgram, type Found, type SourceContext } from './source.ts';
import { pinnedVersion, programChecksum } from './versions.ts';

export function defaultCacheFolder(env: NodeJS.ProcessEnv): string {
  return path.join(env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'rekindle', 'temporal');
}

export function cachedPath(context: SourceContext, version: string): string {
  return path.join(context.cacheFolder, version, 'temporal');
}

/** Calls `prepare` with an empty folder on the cache's file system, and removes it afterwards. */
export async function withScratchFolder<T>(
  context: SourceContext,
  prepare: (folder: string) => Promise<T>,
): Promise<T> {
  await mkdir(context.cacheFolder, { recursive: true });
  const folder = await mkdtemp(path.join(context.cacheFolder, '.incoming-'));
  try {
    return await prepare(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Moves a program that runs into the cache. One of the pinned version must have the pinned checksum. */
export async function adoptProgram(
  context: SourceContext,
  file: string,
  version: string,
  source: string,
): Promise<Found> {
  if (version === pinnedVersion) {
    const expected = programChecksum(context.platform);
    const actual = await sha256(file);
    if (actual !== expected) {
      return { reason: `the program's SHA-256 is ${actual}, expected ${expected ?? 'a supported platform'}` };
    }
  }
  await chmod(file, 0o755);
  const checked = await checkProgram(file, source, context.env);
  if ('reason' in checked) return checked;
  const target = cachedPath(context, version);
  await mkdir(path.dirname(target), { recursive: true });
  await rename(file, target);
  return { program: { ...checked.program, path: target } };
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
