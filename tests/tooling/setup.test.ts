/** The set-up notices what is missing and is silent when nothing is; the test runner counts what it should. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'rekindle-tooling-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs an expression over a module of the set-up; what it prints. */
function evaluate(
  module: string,
  expression: string,
): { output: string; error: string; status: number | null } {
  const code = `import * as m from ${JSON.stringify(path.join(root, 'deploy/setup', module))}; console.log(${expression})`;
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  return { output: ran.stdout.trim(), error: ran.stderr, status: ran.status };
}

describe('isInstalled', () => {
  const locked = {
    '': {},
    'node_modules/a': { version: '1.0.0', integrity: 'x' },
    'node_modules/b': { version: '1.0.0', integrity: 'y', optional: true },
  };

  function installed(packages: object | undefined): string {
    writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify({ packages: locked }));
    mkdirSync(path.join(folder, 'node_modules'), { recursive: true });
    const lock = path.join(folder, 'node_modules', '.package-lock.json');
    if (packages) writeFileSync(lock, JSON.stringify({ packages }));
    return evaluate('dependencies.mjs', `m.isInstalled(${JSON.stringify(folder)})`).output;
  }

  it('is false before anything is installed', () => expect(installed(undefined)).toBe('false'));
  it('is true without the optional packages of other platforms', () => {
    expect(installed({ 'node_modules/a': locked['node_modules/a'] })).toBe('true');
  });
  it('is false when a package has another version', () => {
    expect(installed({ 'node_modules/a': { version: '0.9.0', integrity: 'x' } })).toBe('false');
  });
  it('is false when a package is missing', () => expect(installed({})).toBe('false'));
});

describe('listSources', () => {
  it('lists what the build depends on, and no tests', () => {
    for (const file of ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json']) {
      writeFileSync(path.join(folder, file), '{}');
    }
    mkdirSync(path.join(folder, 'core', 'deep'), { recursive: true });
    for (const file of ['a.ts', 'a.test.ts', 'deep/b.ts', 'notes.md'])
      writeFileSync(path.join(folder, 'core', file), '');
    expect(
      JSON.parse(
        evaluate('build.mjs', `JSON.stringify(Object.keys(m.listSources(${JSON.stringify(folder)})))`).output,
      ),
    ).toEqual(['core/a.ts', 'core/deep/b.ts', 'package-lock.json', 'tsconfig.build.json', 'tsconfig.json']);
  });
});

describe('checkNodeVersion', () => {
  it('ends with what to do on a Node that is too old', () => {
    const { status, error } = evaluate('node-version.mjs', `m.checkNodeVersion('18.19.0')`);
    expect(status).toBe(14);
    expect(error).toMatch(
      /this is Node 18\.19\.0, Rekindle needs Node 20\.3\.0 or newer\n.*Install a current Node/,
    );
  });
  it('accepts this one', () => expect(evaluate('node-version.mjs', 'm.checkNodeVersion()').status).toBe(0));
});

describe('the test runner', () => {
  /** Runs the runner on one test file; its last line and exit code. */
  function count(test: string): { lines: string[]; status: number | null } {
    writeFileSync(path.join(folder, 'sample.test.mjs'), test);
    writeFileSync(
      path.join(folder, 'vitest.config.mjs'),
      `export default { test: { include: ['*.test.mjs'], globals: true } };`,
    );
    const args = [path.join(root, 'deploy/run-tests.mjs'), '--root', folder];
    const { VITEST: _, ...env } = process.env;
    const { stdout, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env });
    return { lines: stdout.trim().split('\n'), status };
  }

  it('counts, and gives the reason of each skipped test before', () => {
    const { lines, status } = count(
      `test('a', () => {}); test('b', () => {}); test('c', (t) => t.skip('no GPU here')); test.skip('d', () => {});`,
    );
    expect(lines.slice(-3)).toEqual([
      'skipped: c: no GPU here',
      'skipped: d: no reason given',
      '2 passed, 0 failed, 2 skipped',
    ]);
    expect(status).toBe(0);
  });

  it.each([
    [
      'a failed test',
      `test('a', () => {}); test('b', () => { throw new Error('no'); });`,
      '1 passed, 1 failed, 0 skipped',
    ],
    ['a file that cannot be loaded', `import './missing.mjs';`, '0 passed, 1 failed, 0 skipped'],
    [
      'an error outside tests',
      `test('a', () => { setTimeout(() => { throw new Error('late'); }); return new Promise((r) => setTimeout(r, 200)); });`,
      '1 passed, 1 failed, 0 skipped',
    ],
    ['nothing to run', `test.skip('a', () => {});`, '0 passed, 0 failed, 1 skipped'],
  ])('fails on %s', (_, test, last) => {
    const { lines, status } = count(test);
    expect(lines.at(-1)).toBe(last);
    expect(status).toBe(1);
  });
});
