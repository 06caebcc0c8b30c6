/**
 * Downloading one content into the cache. Bytes go to a file that only this process writes, named by host and process; what is
 * left of an earlier process that is gone is taken over, and only the rest is asked for. The content is checked by its size and
 * hash before it gets its name.
 */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { exists } from './hub-cache.ts';
import type { HubFile } from './hub-listing.ts';
import { describeRepository, hubError, type HubRepository } from './hub-repository.ts';
import { authorization, hubFetch, PassingFailure, persistently } from './hub-request.ts';
import type { HubSettings } from './hub-settings.ts';

export interface BlobDownload {
  repository: HubRepository;
  settings: HubSettings;
  url: string;
  file: HubFile;
  /** Where the content goes. */
  path: string;
  /** Told of the bytes that are here, those of an earlier try included. */
  onBytes: (here: number) => void;
  signal?: AbortSignal | undefined;
}

const suffix = '.incomplete';
const thisHost = hostname().replace(/[^\w]/g, '_');
const running = new Map<string, Promise<void>>();

/** Downloads a content unless it is there. Calls for the same one share a download. */
export async function downloadBlob(download: BlobDownload): Promise<void> {
  const { path, file, onBytes } = download;
  let own = running.get(path);
  if (own === undefined) {
    own = fetchUnlessThere(download).finally(() => running.delete(path));
    running.set(path, own);
  }
  await own;
  onBytes(file.bytes);
}

async function fetchUnlessThere(download: BlobDownload): Promise<void> {
  if (!(await exists(download.path))) await fetchBlob(download);
}

async function fetchBlob(download: BlobDownload): Promise<void> {
  const { path, repository, signal } = download;
  await mkdir(dirname(path), { recursive: true });
  const partial = `${path}.${thisHost}-${process.pid}${suffix}`;
  const taken = await takeOver(path, partial);
  let resumed = taken;
  let most = 0;
  for (;;) {
    const attempt = (gotFurther: () => void): Promise<void> =>
      fetchRest(download, partial, (here) => {
        // A hub that begins anew each time, and each time breaks, gets no further.
        if (here <= most) return;
        most = here;
        gotFurther();
      });
    await persistently(repository, attempt, signal);
    const fault = await contentFault(partial, download.file);
    if (fault === undefined) break;
    await rm(partial, { force: true });
    // What an earlier process left may have been damaged; what came just now is the hub's own fault.
    if (!resumed)
      throw hubError(repository, `${describeRepository(repository)}: ${download.file.path}: ${fault}`);
    resumed = false;
  }
  await rename(partial, path);
}

/** Makes a partial file of a process that is gone this process's own. */
async function takeOver(path: string, partial: string): Promise<boolean> {
  if (await exists(partial)) return true;
  const pattern = new RegExp(`^${basename(path)}\\.${thisHost}-(\\d+)\\${suffix}$`);
  for (const name of await readdir(dirname(path))) {
    const owner = pattern.exec(name);
    if (!owner || isAlive(Number(owner[1]))) continue;
    const taken = await rename(join(dirname(path), name), partial).then(
      () => true,
      () => false,
    );
    if (taken) return true;
  }
  return false;
}

function isAlive(process_: number): boolean {
  try {
    process.kill(process_, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Asks for what the partial file lacks and appends it. */
async function fetchRest(
  download: BlobDownload,
  partial: string,
  onHere: (bytes: number) => void,
): Promise<void> {
  const { url, settings, repository, file, signal } = download;
  const here = await stat(partial).then(
    ({ size }) => size,
    () => 0,
  );
  if (here === file.bytes) return;
  const resumes = here > 0 && here < file.bytes;
  const headers = {
    ...authorization(settings),
    'accept-encoding': 'identity',
    ...(resumes && { range: `bytes=${here}-`, 'if-range': `"${file.hash}"` }),
  };
  const response = await hubFetch(url, repository, { headers, signal });
  const continues =
    response.status === 206 && response.headers.get('content-range')?.startsWith(`bytes ${here}-`);
  const output = await open(partial, continues ? 'a' : 'w');
  try {
    await append(response, output, continues ? here : 0, download, onHere);
  } finally {
    await output.close();
  }
}

async function append(
  response: Response,
  output: FileHandle,
  start: number,
  { file, onBytes, signal }: BlobDownload,
  onHere: (bytes: number) => void,
): Promise<void> {
  let here = start;
  try {
    for await (const chunk of response.body ?? []) {
      here += (chunk as Uint8Array).length;
      if (here > file.bytes)
        throw new PassingFailure(`${file.path} is longer than the ${file.bytes} bytes announced`);
      await output.writeFile(chunk as Uint8Array);
      onHere(here);
      onBytes(here);
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PassingFailure || (error as NodeJS.ErrnoException).code === 'ENOSPC') throw error;
    throw new PassingFailure(`the connection broke after ${here} of ${file.bytes} bytes of ${file.path}`, {
      cause: error,
    });
  }
  if (here < file.bytes) throw new PassingFailure(`only ${here} of ${file.bytes} bytes of ${file.path} came`);
}

/** What is wrong with a content; undefined when it is that of the file. */
async function contentFault(path: string, { bytes, hash }: HubFile): Promise<string | undefined> {
  const isSha256 = hash.length === 64;
  const digest: Hash = createHash(isSha256 ? 'sha256' : 'sha1');
  // Git's hash of a content covers its size.
  if (!isSha256) digest.update(`blob ${bytes}\0`);
  await pipeline(createReadStream(path), digest);
  const found = digest.digest('hex');
  return found === hash
    ? undefined
    : `its ${isSha256 ? 'SHA-256' : 'git hash'} is ${found}, expected ${hash}`;
}
