/**
 * The cache of the hub's clients: `blobs/` holds contents by their hash, `snapshots/<commit>/` names them by links, `refs/` says
 * which commit a branch or tag was at. A blob appears whole or not at all, so whatever is found here can be used.
 */
import { mkdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { HubRepository } from './hub-repository.ts';
import type { HubSettings } from './hub-settings.ts';

export class HubCache {
  readonly folder: string;
  readonly #revision: string;

  constructor({ cache }: Pick<HubSettings, 'cache'>, { type, name, revision }: HubRepository) {
    this.folder = join(cache, `${type}s--${name.replaceAll('/', '--')}`);
    this.#revision = revision;
  }

  /** The commit that the revision is known to be at; the revision itself when that is a commit. */
  async commit(): Promise<string | undefined> {
    const reference = await readFile(join(this.folder, 'refs', this.#revision), 'utf8').catch(
      () => undefined,
    );
    if (reference !== undefined) return reference.trim();
    return /^[0-9a-f]{40}$/.test(this.#revision) ? this.#revision : undefined;
  }

  async rememberCommit(commit: string): Promise<void> {
    if (commit === this.#revision) return;
    const reference = join(this.folder, 'refs', this.#revision);
    await mkdir(dirname(reference), { recursive: true });
    const written = `${reference}.${randomUUID()}`;
    await writeFile(written, commit);
    await rename(written, reference);
  }

  snapshot(commit: string): string {
    return join(this.folder, 'snapshots', commit);
  }

  blob(hash: string): string {
    return join(this.folder, 'blobs', hash);
  }

  /** The path of a file in the cache, if it is there. */
  async find(path: string): Promise<string | undefined> {
    const commit = await this.commit();
    const pointer = commit === undefined ? undefined : join(this.snapshot(commit), path);
    return pointer !== undefined && (await exists(pointer)) ? pointer : undefined;
  }

  /** Names a blob as a file of a snapshot. */
  async link(commit: string, path: string, hash: string): Promise<string> {
    const pointer = join(this.snapshot(commit), path);
    await mkdir(dirname(pointer), { recursive: true });
    const target = relative(dirname(pointer), this.blob(hash));
    await symlink(target, pointer).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    return pointer;
  }
}

export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
