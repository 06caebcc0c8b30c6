/** Which files a repository has at a revision, and the commit that this is. One request tells. */
import { z } from 'zod';
import { authorization, hubFetch, persistently } from './hub-request.ts';
import { describeRepository, hubError, type HubRepository } from './hub-repository.ts';
import type { HubSettings } from './hub-settings.ts';

const hash = (digits: number): z.ZodString => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));
const listingSchema = z.looseObject({
  sha: hash(40),
  siblings: z.array(
    z.looseObject({
      rfilename: z.string(),
      size: z.number().int().nonnegative(),
      blobId: hash(40),
      lfs: z.looseObject({ sha256: hash(64) }).nullish(),
    }),
  ),
});

export interface HubFile {
  /** In the repository. */
  path: string;
  bytes: number;
  /** Of the content: SHA-256 of a large file, git's SHA-1 of others. It is also the name of the blob in the cache. */
  hash: string;
}

export interface HubListing {
  commit: string;
  files: HubFile[];
}

/** A path that leads to a file below the folder that it is joined to. */
function isInside(path: string): boolean {
  return (
    path !== '' &&
    !path.includes('\\') &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  );
}

/** @throws RekindleError ModelError or DataError when the repository cannot be read. */
export async function listHubFiles(
  repository: HubRepository,
  settings: HubSettings,
  signal?: AbortSignal,
): Promise<HubListing> {
  const { type, name, revision } = repository;
  const url = `${settings.endpoint}/api/${type}s/${name}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const body = await persistently(
    repository,
    async () => (await hubFetch(url, repository, { headers: authorization(settings), signal })).text(),
    signal,
  );
  const parsed = listingSchema.safeParse(parseJson(body));
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!;
    throw hubError(
      repository,
      `${describeRepository(repository)}: unexpected answer of ${url}: ${path.join('.')}: ${message}`,
      {
        hint: 'Check that HF_ENDPOINT is a hub.',
      },
    );
  }
  const { sha, siblings } = parsed.data;
  return {
    commit: sha,
    files: siblings
      .filter(({ rfilename }) => isInside(rfilename))
      .map(({ rfilename, size, blobId, lfs }) => ({
        path: rfilename,
        bytes: size,
        hash: lfs?.sha256 ?? blobId,
      })),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
