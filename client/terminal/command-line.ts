/** Commands as they are printed in hints: in the form that works where this program was started. */
import { existsSync } from 'node:fs';
import path from 'node:path';

/**
 * `rekindle <args>` when that program is on the PATH, else `npx rekindle <args>`, which works in a clone and in a folder
 * that the package is installed in. Folders that npx and npm put on the PATH of their own children do not count.
 */
export function commandLine(args: string, env: NodeJS.ProcessEnv = process.env): string {
  const folders = (env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  const onPath = folders.some(
    (folder) =>
      !folder.endsWith(path.join('node_modules', '.bin')) && existsSync(path.join(folder, 'rekindle')),
  );
  return `${onPath ? 'rekindle' : 'npx rekindle'} ${args}`;
}
