/** Each import rule fires on a file that breaks it, and on nothing else in a small tree that keeps them all. */
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  copyFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const cruise = path.join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
const settings = ['.dependency-cruiser.cjs', '.dependency-cruiser.runtime.cjs'] as const;

/** Rule → files that break it; each file is added to the lawful tree below. */
const breaches: Record<(typeof settings)[number], Record<string, Record<string, string>>> = {
  '.dependency-cruiser.cjs': {
    'layer-core': { 'core/upward.ts': `export { storeValue } from '../store/value.ts';` },
    'layer-store': { 'store/upward.ts': `export { engine } from '../gpu/engine.ts';` },
    'layer-gpu': { 'gpu/upward.ts': `export { act } from '../activities/act.ts';` },
    'layer-activities': { 'activities/upward.ts': `export { worker } from '../workers/worker.ts';` },
    'layer-workers': { 'workers/upward.ts': `export { client } from '../client/client.ts';` },
    'layer-client': { 'client/from-tests.ts': `export { helper } from '../tests/helper.ts';` },
    'layer-deploy': { 'deploy/upward.ts': `export { storeValue } from '../store/value.ts';` },
    'layer-workflows': { 'workflows/from-store.ts': `export { storeValue } from '../store/value.ts';` },
    'workflows-take-only-types-from-activities': {
      'workflows/values.ts': `export { act } from '../activities/act.ts';`,
    },
    'core-is-pure': { 'core/reads-files.ts': `export { readFileSync } from 'node:fs';` },
    'tests-are-not-imported': { 'deploy/helped.ts': `export { helper } from '../tests/helper.ts';` },
    'no-cycles': {
      'core/one.ts': `import { two } from './two.ts'; export const one = (): number => two();`,
      'core/two.ts': `import { one } from './one.ts'; export const two = (): number => one();`,
    },
    'imports-resolve': { 'core/dangling.ts': `export { nothing } from './nothing.ts';` },
  },
  '.dependency-cruiser.runtime.cjs': {
    'workflows-do-not-load-zod': { 'workflows/checks.ts': `export { schema } from '../core/schema.ts';` },
    'workflows-load-no-node-built-in': {
      'core/reads-files.ts': `export { readFileSync } from 'node:fs';`,
      'workflows/reads-files.ts': `export { readFileSync } from '../core/reads-files.ts';`,
    },
  },
};

const lawful: Record<string, string> = {
  'core/value.ts': `export const value = 1;`,
  'core/schema.ts': `import { z } from 'zod'; export const schema = z.string(); export type Text = z.infer<typeof schema>;`,
  'store/value.ts': `export { value as storeValue } from '../core/value.ts';`,
  'gpu/engine.ts': `export { storeValue as engine } from '../store/value.ts';`,
  'activities/act.ts': `import { engine } from '../gpu/engine.ts'; export const act = (): number => engine;`,
  'workers/worker.ts': `export { act as worker } from '../activities/act.ts';`,
  'client/client.ts': `export { worker as client } from '../workers/worker.ts'; export { up } from '../deploy/up.ts';`,
  'deploy/up.ts': `export { value as up } from '../core/value.ts';`,
  'tests/helper.ts': `export const helper = 1;`,
  'workflows/index.ts': `
    import { proxyActivities } from '@temporalio/workflow';
    import type { act } from '../activities/act.ts';
    import type { Text } from '../core/schema.ts';
    export const acts = proxyActivities<{ act: typeof act }>({ startToCloseTimeout: '1m' });
    export const text: Text = '';`,
};
const folders = [...new Set(Object.keys(lawful).map((file) => path.dirname(file)))];

let tree: string;

beforeAll(() => {
  tree = mkdtempSync(path.join(tmpdir(), 'rekindle-imports-'));
  symlinkSync(path.join(root, 'node_modules'), path.join(tree, 'node_modules'));
  for (const file of [...settings, 'tsconfig.json', 'package.json']) {
    copyFileSync(path.join(root, file), path.join(tree, file));
  }
  write(lawful);
});
afterAll(() => rmSync(tree, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(tree, file)), { recursive: true });
    writeFileSync(path.join(tree, file), `${text}\n`);
  }
}

/** Names of the rules that are broken, with the file that breaks each. */
function broken(config: string): { rule: string; from: string }[] {
  const args = [cruise, '--preserve-symlinks', '--output-type', 'json', '--config', config, ...folders];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: tree, encoding: 'utf8' });
  if (!stdout) throw new Error(stderr);
  const { summary } = JSON.parse(stdout) as {
    summary: { violations: { rule: { name: string }; from: string }[] };
  };
  return summary.violations.map(({ rule, from }) => ({ rule: rule.name, from }));
}

it.each(settings)('%s finds nothing in a lawful tree', (config) => {
  expect(broken(config)).toEqual([]);
});

it.each(settings)('each rule of %s fires on a file that breaks it', (config) => {
  const files = Object.values(breaches[config]);
  files.forEach(write);
  try {
    const found = broken(config);
    for (const [rule, wrong] of Object.entries(breaches[config])) {
      const culprits = Object.keys(wrong);
      expect(
        found.some((one) => one.rule === rule && culprits.includes(one.from)),
        `${rule} on ${culprits.join(', ')}`,
      ).toBe(true);
    }
  } finally {
    for (const file of files.flatMap((wrong) => Object.keys(wrong)))
      rmSync(path.join(tree, file), { force: true });
  }
});

it('has a breach for each rule', () => {
  for (const config of settings) {
    const { forbidden } = createRequire(import.meta.url)(path.join(root, config)) as {
      forbidden: { name: string }[];
    };
    expect(Object.keys(breaches[config]).sort()).toEqual(forbidden.map(({ name }) => name).sort());
    expect(readFileSync(path.join(root, 'deploy', 'lint.mjs'), 'utf8')).toContain(`'${config}'`);
  }
});
