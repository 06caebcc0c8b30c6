/**
 * Files of data sets on the Hugging Face hub, through the cache that the Python client uses (`refs/`, `snapshots/`, `blobs/`).
 *
 * A file in the cache is used without asking the hub again: a run's data must not change while it goes on. Downloads go to a
 * name of their own, are checked, and then renamed, so a file in the cache is whole.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { downloadFile, getHFHubCachePath, getRepoFolderName, HubApiError, pathsInfo } from '@huggingface/hub';
import { hubFilePattern } from '../../core/recipe.ts';
import { RekindleError } from '../../core/errors.ts';

interface HubFile {
  repository: string;
  revision: string;
  path: string;
}

/**
 * The local path of `<owner>/<name>[@<revision>]:<path>`; downloads it when it is not in the cache. Reads the environment
 * variables of the hub's clients: HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, HF_HOME, HF_HUB_CACHE.
 * Throws DataError if the file can't be had, with the reason.
 */
export async function hubFile(name: string): Promise<string> {
  const cached = await cachedHubFile(name);
  if (cached !== undefined) return cached;
  const file = parseName(name);
  const folder = cacheFolder(file);
  if (isSet(process.env['HF_HUB_OFFLINE'])) {
    throw new RekindleError(
      'DataError',
      `hub file ${name} is not in the cache ${folder}, and HF_HUB_OFFLINE is set`,
      {
        hint: 'Unset HF_HUB_OFFLINE, or give a local file with data.train.path.',
      },
    );
  }
  try {
    return await download(folder, file);
  } catch (error) {
    if (error instanceof RekindleError) throw error;
    throw new RekindleError('DataError', `hub file ${name} could not be downloaded: ${reasonOf(error)}`, {
      hint: hintFor(error),
      cause: error,
    });
  }
}

function parseName(name: string): HubFile {
  const match = hubFilePattern.exec(name);
  if (match === null) {
    throw new RekindleError(
      'DataError',
      `hub file "${name}": expected <owner>/<name>:<path in the repository>`,
    );
  }
  return { repository: match[1]!, revision: match[2] ?? 'main', path: match[3]! };
}

function cacheFolder({ repository }: HubFile): string {
  return join(getHFHubCachePath(), getRepoFolderName({ type: 'dataset', name: repository }));
}

/** The path of a hub file in the cache, if it is there. */
export async function cachedHubFile(name: string): Promise<string | undefined> {
  const file = parseName(name);
  const folder = cacheFolder(file);
  const commit = await readFile(join(folder, 'refs', file.revision), 'utf8').catch(() => file.revision);
  const cached = join(folder, 'snapshots', commit.trim(), file.path);
  return (await exists(cached)) ? cached : undefined;
}

async function download(folder: string, file: HubFile): Promise<string> {
  const { repository, revision, path } = file;
  const hub = {
    repo: { type: 'dataset' as const, name: repository },
    revision,
    hubUrl: process.env['HF_ENDPOINT'] ?? 'https://huggingface.co',
    accessToken: process.env['HF_TOKEN'],
  };
  const [info] = await pathsInfo({ ...hub, paths: [path], expand: true });
  if (info === undefined) {
    throw new RekindleError('DataError', `data set ${repository} at ${revision} has no file ${path}`);
  }
  const commit = info.lastCommit.id;
  const blob = join(folder, 'blobs', info.lfs?.oid ?? info.oid ?? commit);
  if (!(await exists(blob))) {
    // Read at the commit just learnt, lest the branch moves in between.
    const content = await downloadFile({ ...hub, revision: commit, path });
    if (content === null)
      throw new RekindleError('DataError', `data set ${repository} has no file ${path} at ${commit}`);
    await writeWhole(blob, content, info.size, info.lfs?.oid);
  }
  const pointer = join(folder, 'snapshots', commit, path);
  await mkdir(dirname(pointer), { recursive: true });
  await symlink(relative(dirname(pointer), blob), pointer).catch(ignoreExisting);
  const reference = join(folder, 'refs', revision);
  await mkdir(dirname(reference), { recursive: true });
  await writeFile(reference, commit);
  return pointer;
}

async function writeWhole(
  path: string,
  content: Blob,
  size: number,
  sha256: string | undefined,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const incomplete = `${path}.${randomUUID()}.incomplete`;
  try {
    await pipeline(Readable.fromWeb(content.stream()), createWriteStream(incomplete));
    const written = (await stat(incomplete)).size;
    if (written !== size) throw new Error(`${written} bytes came, ${size} were announced`);
    if (sha256 !== undefined) {
      const hash = createHash('sha256');
      await pipeline(createReadStream(incomplete), hash);
      const found = hash.digest('hex');
      if (found !== sha256) throw new Error(`SHA-256 is ${found}, expected ${sha256}`);
    }
    await rename(incomplete, path);
  } finally {
    await rm(incomplete, { force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && !['', '0', 'false', 'no', 'off'].includes(value.toLowerCase());
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

function hintFor(error: unknown): string {
  if (error instanceof HubApiError && [401, 403].includes(error.statusCode)) {
    return 'The data set is private, gated or misspelt; set HF_TOKEN to a token that may read it.';
  }
  if (error instanceof HubApiError && error.statusCode === 404) {
    return 'Check the owner, the name and the path: <owner>/<name>:<path in the repository>.';
  }
  return 'Check the network and HF_ENDPOINT, or give a local file with data.train.path.';
}
