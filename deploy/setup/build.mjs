/**
 * Compiles the sources to dist/ and bundles the workflows. dist/.built lists the sources of the last complete build with
 * size and modification time; a build is up to date when that list is still true.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { giveUp, root, run, say } from './steps.mjs';

const sourceFolders = ['core', 'store', 'gpu', 'activities', 'workflows', 'workers', 'client', 'deploy'];
const settings = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];

export function buildIfStale() {
  const before = readStamp();
  const now = listSources(root);
  if (before && JSON.stringify(before) === JSON.stringify(now)) return;
  build(before, now);
}

export function build(before = readStamp(), now = listSources(root)) {
  const stamp = path.join(root, 'dist', '.built');
  rmSync(stamp, { force: true });
  // tsc leaves the output of a deleted source behind, and other code could still import it.
  if (!before || Object.keys(before).some((file) => !(file in now))) {
    rmSync(path.join(root, 'dist'), { recursive: true, force: true });
  }
  run(
    process.execPath,
    [path.join('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json'],
    {
      title: 'compiling TypeScript to dist/',
      remedy: 'Mend the errors above; `npm run types` shows them again.',
    },
  );
  run(process.execPath, [path.join('deploy', 'setup', 'bundle-workflows.mjs')], {
    title: 'bundling the workflows',
    remedy:
      'A workflow may import only core/ and @temporalio/workflow; the message above names the offending import.',
  });
  mkdirSync(path.dirname(stamp), { recursive: true });
  writeFileSync(`${stamp}.new`, JSON.stringify(now));
  renameSync(`${stamp}.new`, stamp);
}

function readStamp() {
  try {
    return JSON.parse(readFileSync(path.join(root, 'dist', '.built'), 'utf8'));
  } catch {
    return undefined;
  }
}

/** Each file that decides what dist/ holds, with size and modification time; tests are not among them. */
export function listSources(folder) {
  const files = settings.map((name) => path.join(folder, name));
  const pending = sourceFolders.map((name) => path.join(folder, name));
  for (let current = pending.pop(); current; current = pending.pop()) {
    if (!existsSync(current)) continue;
    for (const entry of readdirSync(current, { withFileTypes: true })) {
      const file = path.join(current, entry.name);
      if (entry.isDirectory()) pending.push(file);
      else if (/\.(ts|mjs)$/.test(entry.name) && !entry.name.endsWith('.test.ts')) files.push(file);
    }
  }
  const describe = (file) => {
    const { size, mtimeMs } = statSync(file);
    return [path.relative(folder, file), `${size} ${mtimeMs}`];
  };
  return Object.fromEntries(files.sort().map(describe));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!existsSync(path.join(root, 'node_modules', 'typescript'))) {
    giveUp(
      'TypeScript is not installed',
      'Run `node deploy/setup.mjs`, which installs the dependencies first.',
    );
  }
  build();
  say('dist/ is up to date');
}
