import { resolve } from 'node:path';
import type { Store } from '../store.ts';
import { localArtifacts } from './artifacts.ts';
import { localClaims } from './claims.ts';
import { layoutOf } from './layout.ts';
import { probeLocalStore } from './probe.ts';
import { withScratch } from './scratch.ts';
import { localCommitLog, localResults } from './records.ts';

/**
 * A store in a folder of a local disk (or a file system with hard links that several hosts share). Opening does no I/O:
 * the folder is made by the first write, and reading from a folder that is not there finds nothing.
 */
export function openLocalStore(folder: string): Store {
  const layout = layoutOf(resolve(folder));
  return {
    location: layout.root,
    probe: () => probeLocalStore(layout),
    withScratch: (use) => withScratch(layout, use),
    ...localArtifacts(layout),
    ...localResults(layout),
    ...localClaims(layout),
    ...localCommitLog(layout),
  };
}
