/** Where a home folder keeps the state of its running stack. */
import path from 'node:path';

export function stateFolder(home: string): string {
  return path.join(home, '.rekindle');
}
