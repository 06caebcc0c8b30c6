/** `trajectories/iterations.jsonl` of a run folder: for each iteration the artifacts that hold its trajectories. */
import { join } from 'node:path';
import { replaceFile } from './atomic-file.ts';
import type { RunFolder } from './run-folder.ts';
import { committedEntries } from './run-history.ts';
import type { Store } from './store.ts';

/** Writes the index anew from the commit log. */
export async function writeTrajectoryIndex(store: Store, run: string, folder: RunFolder): Promise<void> {
  const lines = (await committedEntries(store, run))
    .filter((entry) => entry.kind === 'reinforcement')
    .map(({ iteration, version, outcomes, trajectories, rows }) => ({
      iteration,
      version,
      outcomes,
      trajectories,
      rows,
    }));
  await replaceFile(
    join(folder.trajectories, 'iterations.jsonl'),
    lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  );
}
