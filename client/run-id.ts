/** Ids of runs, as people and defaults write them. */
import { basename } from 'node:path';
import { RekindleError } from '../core/errors.ts';
import { runIdPattern } from '../core/ids.ts';

/** `<recipe>-<yyyymmdd>-<hhmmss>` in UTC; the recipe's name is cut so that the id keeps within its 63 characters. */
export function defaultRunId(recipeName: string, now: Date): string {
  const digits = now.toISOString().replace(/[-:]/g, '');
  const name = basename(recipeName).replace(/\.ya?ml$/, '');
  const clean = name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return `${clean.replace(/^-+/, '').slice(0, 47) || 'run'}-${digits.slice(0, 8)}-${digits.slice(9, 15)}`;
}

/** Returns the id if it is well formed; throws UsageError otherwise. */
export function checkRunId(run: string): string {
  if (runIdPattern.test(run)) return run;
  throw new RekindleError(
    'UsageError',
    `run id ${JSON.stringify(run)}: expected at most 63 lower-case letters, digits and hyphens, not beginning with a hyphen`,
  );
}
