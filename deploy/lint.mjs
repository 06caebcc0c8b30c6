/** All that `npm run lint` looks at: rules of the language, import rules, format. Each is run, and any finding fails. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folders = ['core', 'store', 'gpu', 'activities', 'workflows', 'workers', 'client', 'deploy', 'tests'];
const cruise = ['dependency-cruiser/bin/dependency-cruise.mjs', '--output-type', 'err'];

const checks = {
  eslint: ['eslint/bin/eslint.js', '--max-warnings', '0', ...folders, 'vitest.config.ts'],
  'import rules': [...cruise, '--config', '.dependency-cruiser.cjs', ...folders],
  'what workflows load': [...cruise, '--config', '.dependency-cruiser.runtime.cjs', 'workflows', 'core'],
  'prettier --check .': ['prettier/bin/prettier.cjs', '--check', '.'],
};

let failed = false;
for (const [name, [script, ...args]] of Object.entries(checks)) {
  console.log(`lint: ${name}`);
  const { status } = spawnSync(process.execPath, [`node_modules/${script}`, ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  failed ||= status !== 0;
}
process.exitCode = failed ? 1 : 0;
