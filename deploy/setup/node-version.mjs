/** The oldest Node that runs Rekindle is the one in package.json's `engines.node`. */
import { readFileSync } from 'node:fs';
import { giveUp } from './steps.mjs';

export function checkNodeVersion(running = process.versions.node) {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const required = manifest.engines.node.replace('>=', '');
  if (!isAtLeast(running, required)) {
    giveUp(
      `this is Node ${running}, Rekindle needs Node ${required} or newer`,
      'Install a current Node (https://nodejs.org, or `nvm install 22`) and run the command again.',
    );
  }
}

/** True when dotted version `a` is not older than `b`. */
export function isAtLeast(a, b) {
  const [left, right] = [a, b].map((version) => version.split('.').map((part) => Number.parseInt(part, 10)));
  const differing = [0, 1, 2].find((i) => (left[i] ?? 0) !== (right[i] ?? 0));
  return differing === undefined || (left[differing] ?? 0) > (right[differing] ?? 0);
}
