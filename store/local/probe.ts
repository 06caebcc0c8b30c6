/** Finds out, before a run starts, whether a folder can keep the promises of the store; and sweeps what killed writers left. */
import { randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import { createIfAbsent, removeQuietly } from './durable-files.ts';
import { guarded } from './faults.ts';
import type { Layout } from './layout.ts';

const leftoverAgeMs = 24 * 60 * 60 * 1000;

/** Throws StoreError unless files can be created here exclusively. */
export async function probeLocalStore(layout: Layout): Promise<void> {
  const path = join(layout.temporary, `probe-${randomUUID()}`);
  try {
    const [first, second] = await guarded('write to the store at', layout.root, async () => [
      await createIfAbsent(path, 'first', layout.temporary),
      await createIfAbsent(path, 'second', layout.temporary),
    ]);
    if (!first || second) {
      throw new RekindleError('StoreError', `${layout.root}: files are not created exclusively here`, {
        hint: 'Choose a folder on a local or NFS file system for the store.',
        permanent: true,
      });
    }
  } finally {
    await removeQuietly(path);
  }
  await guarded('sweep', layout.temporary, () => sweep(layout.temporary));
}

async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const status = await stat(path).catch(() => undefined);
    if (status !== undefined && Date.now() - status.ctimeMs > leftoverAgeMs) {
      await rm(path, { recursive: true, force: true });
    }
  }
}
