/**
 * Installs the locked dependencies when what is installed differs from package-lock.json. npm keeps a lock of what it
 * installed in node_modules/.package-lock.json; it writes that file last, so an interrupted install is seen as missing.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root, run } from './steps.mjs';

export function installDependencies() {
  if (isInstalled(root)) return;
  const npm = process.env.npm_execpath;
  const [command, prefix] = npm ? [process.execPath, [npm]] : ['npm', []];
  run(command, [...prefix, 'ci', '--no-audit', '--no-fund'], {
    title: 'installing dependencies (npm ci; about 600 MB, one minute)',
    remedy:
      'Check that npm can reach its registry (`npm ping`; behind a proxy set `npm config set proxy`), then run again.',
    // Its GPU libraries would come from a host that firewalls often block; the CPU library is in the package.
    env: { ONNXRUNTIME_NODE_INSTALL: 'skip' },
  });
}

/** True when every package of the lock is installed in the locked version; optional ones may be absent. */
export function isInstalled(folder) {
  let locked;
  let installed;
  try {
    locked = packagesOf(path.join(folder, 'package-lock.json'));
    installed = packagesOf(path.join(folder, 'node_modules', '.package-lock.json'));
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
  return Object.entries(locked).every(([location, entry]) => {
    if (location === '') return true;
    const found = installed[location];
    return found
      ? found.version === entry.version && found.integrity === entry.integrity
      : entry.optional === true;
  });
}

function packagesOf(lockFile) {
  return JSON.parse(readFileSync(lockFile, 'utf8')).packages;
}
