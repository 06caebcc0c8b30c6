/**
 * Files of data sets on the Hugging Face hub, through the shared cache. A file in the cache is used without asking the hub
 * again: a run's data must not change while it goes on.
 */
import { join } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import { hubFilePattern } from '../../core/recipe.ts';
import { downloadFiles } from '../../gpu/hub/download-files.ts';
import { HubCache } from '../../gpu/hub/hub-cache.ts';
import { describeRepository, hubError, type HubRepository } from '../../gpu/hub/hub-repository.ts';
import { hubSettings } from '../../gpu/hub/hub-settings.ts';

/**
 * The local path of `<owner>/<name>[@<revision>]:<path>`; downloads it when it is not in the cache.
 * @throws RekindleError DataError if the file can't be had, with the reason.
 */
export async function hubFile(name: string): Promise<string> {
  const cached = await cachedHubFile(name);
  if (cached !== undefined) return cached;
  const { repository, path } = parseName(name);
  const settings = hubSettings();
  if (settings.offline) {
    const { folder } = new HubCache(settings, repository);
    throw new RekindleError(
      'DataError',
      `hub file ${name} is not in the cache ${folder}, and HF_HUB_OFFLINE is set`,
      {
        hint: 'Unset HF_HUB_OFFLINE, or give a local file with data.train.path.',
      },
    );
  }
  const { folder } = await downloadFiles(repository, (files) => {
    const found = files.filter((file) => file.path === path);
    if (found.length > 0) return found;
    throw hubError(repository, `${describeRepository(repository)} has no file ${path}`);
  });
  return join(folder, path);
}

function parseName(name: string): { repository: HubRepository; path: string } {
  const [, repository, revision = 'main', path] = hubFilePattern.exec(name) ?? [];
  if (repository === undefined || path === undefined) {
    throw new RekindleError(
      'DataError',
      `hub file "${name}": expected <owner>/<name>:<path in the repository>`,
    );
  }
  return { repository: { type: 'dataset', name: repository, revision }, path };
}

/** The path of a hub file in the cache, if it is there. */
export async function cachedHubFile(name: string): Promise<string | undefined> {
  const { repository, path } = parseName(name);
  return new HubCache(hubSettings(), repository).find(path);
}
