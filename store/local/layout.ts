/**
 * Where things lie in a store folder:
 *   artifacts/sha256/ab/<64 hexadecimal digits>   results/<run>/<key>.json   log/<run>/<8-digit version>.json
 *   claims/<run>/<key>/<8-digit number>   tmp/
 * Names are checked before they become paths, so no run or key can reach outside its folder.
 */
import { join } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import { runIdPattern } from '../../core/ids.ts';
import type { Ref } from '../../core/refs.ts';

const keyPattern = /^[a-z0-9-]+(\/[a-z0-9-]+)*$/;

export interface Layout {
  readonly root: string;
  readonly temporary: string;
  readonly log: string;
  artifact(ref: Ref): string;
  artifactOf(hexDigest: string): string;
  results(run: string): string;
  /** The folder of results whose keys start with `folder`, which is empty or ends with a slash. */
  resultsUnder(run: string, folder: string): string;
  result(run: string, key: string): string;
  claims(run: string, key: string): string;
  runLog(run: string): string;
  logEntry(run: string, version: number): string;
}

export function layoutOf(root: string): Layout {
  const artifactOf = (hex: string) => join(root, 'artifacts', 'sha256', hex.slice(0, 2), hex);
  const results = (run: string) => join(root, 'results', checked('run id', run, runIdPattern));
  const runLog = (run: string) => join(root, 'log', checked('run id', run, runIdPattern));
  return {
    root,
    temporary: join(root, 'tmp'),
    log: join(root, 'log'),
    artifactOf,
    artifact: (ref) => artifactOf(checked('hash', ref.hash, hashPattern).slice('sha256:'.length)),
    results,
    resultsUnder: (run, folder) =>
      folder === '' ? results(run) : join(results(run), checked('key', folder.slice(0, -1), keyPattern)),
    result: (run, key) => join(results(run), `${checked('key', key, keyPattern)}.json`),
    claims: (run, key) =>
      join(root, 'claims', checked('run id', run, runIdPattern), checked('key', key, keyPattern)),
    runLog,
    logEntry: (run, version) => join(runLog(run), `${String(version).padStart(8, '0')}.json`),
  };
}

const hashPattern = /^sha256:[0-9a-f]{64}$/;

function checked(what: string, name: string, pattern: RegExp): string {
  if (pattern.test(name)) return name;
  throw new RekindleError('StoreError', `bad ${what} ${JSON.stringify(name)}: expected ${pattern}`, {
    permanent: true,
  });
}
