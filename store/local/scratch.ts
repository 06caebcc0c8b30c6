/** Room for files on their way into the store: on its own file system, so that they are moved rather than copied. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { guarded } from './faults.ts';
import type { Layout } from './layout.ts';

/** Makes a folder, gives it to `use` and removes it; what a killed process leaves is swept by `probe`. */
export async function withScratch<T>(layout: Layout, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await guarded('make room in the store at', layout.root, async () => {
    await mkdir(layout.temporary, { recursive: true });
    return mkdtemp(join(layout.temporary, 'scratch-'));
  });
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
