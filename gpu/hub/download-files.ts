/** Files of a repository on the hub, downloaded into the shared cache a few at a time. */
import { HubCache } from './hub-cache.ts';
import { downloadBlob } from './hub-blob.ts';
import { listHubFiles, type HubFile, type HubListing } from './hub-listing.ts';
import { describeRepository, hubError, type HubRepository } from './hub-repository.ts';
import { hubSettings, type HubSettings } from './hub-settings.ts';

export interface Progress {
  files: number;
  bytes: number;
  totalBytes: number;
}

export interface DownloadOptions {
  settings?: HubSettings;
  onProgress?: ((progress: Progress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export interface Downloaded {
  commit: string;
  /** Folder of the snapshot; the files have in it the paths that they have in the repository. */
  folder: string;
}

const atOnce = 3;

/**
 * Downloads the files that `select` picks of the repository's listing; those in the cache are not asked for again.
 * Without a network (HF_HUB_OFFLINE) it names the snapshot in the cache, whatever that holds.
 * @throws RekindleError ModelError or DataError, by the type of the repository, that says what to do.
 */
export async function downloadFiles(
  repository: HubRepository,
  select: (files: readonly HubFile[]) => readonly HubFile[],
  { settings = hubSettings(), onProgress, signal }: DownloadOptions = {},
): Promise<Downloaded> {
  const cache = new HubCache(settings, repository);
  if (settings.offline) {
    const commit = await cache.commit();
    if (commit !== undefined) return { commit, folder: cache.snapshot(commit) };
    throw hubError(
      repository,
      `${describeRepository(repository)} is not in the cache ${cache.folder}, and HF_HUB_OFFLINE is set`,
      {
        hint: 'Unset HF_HUB_OFFLINE, or give a local path.',
      },
    );
  }
  const listing = await listHubFiles(repository, settings, signal);
  const chosen = select(listing.files);
  await downloadAll(repository, listing, chosen, cache, { settings, onProgress, signal });
  await cache.rememberCommit(listing.commit);
  return { commit: listing.commit, folder: cache.snapshot(listing.commit) };
}

async function downloadAll(
  repository: HubRepository,
  { commit }: HubListing,
  files: readonly HubFile[],
  cache: HubCache,
  { settings, onProgress, signal }: DownloadOptions & { settings: HubSettings },
): Promise<void> {
  const here = new Map<string, number>();
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const report = (path: string, bytes: number): void => {
    here.set(path, bytes);
    const sum = [...here.values()].reduce((total, one) => total + one, 0);
    onProgress?.({ files: files.length, bytes: sum, totalBytes });
  };
  const prefix = repository.type === 'model' ? '' : 'datasets/';
  const waiting = [...files];
  const failed = new AbortController(); // one that fails ends the others
  const ending = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const { path, hash } = file;
      const escaped = path.split('/').map(encodeURIComponent).join('/');
      await downloadBlob({
        repository,
        settings,
        file,
        signal: ending,
        url: `${settings.endpoint}/${prefix}${repository.name}/resolve/${commit}/${escaped}`,
        path: cache.blob(hash),
        onBytes: (bytes) => report(path, bytes),
      });
      await cache.link(commit, path, hash);
    }
  };
  await Promise.all(
    Array.from({ length: atOnce }, () =>
      work().catch((error: unknown) => {
        failed.abort();
        throw error;
      }),
    ),
  );
}
