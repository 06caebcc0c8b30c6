/** Bad input, as the command line meets it: one clear message, a distinct exit code, nothing started. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCli } from './program.ts';
import type { Io } from './terminal/io.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'rekindle-cli-'));
});
afterEach(() => rm(home, { recursive: true }));

/** Runs a command line as a script would: streams, no terminal. */
async function rekindle(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const io: Io = {
    stdin: new PassThrough(),
    stdout,
    stderr,
    interactive: false,
    env: { REKINDLE_HOME: home },
    onInterrupt: () => () => undefined,
  };
  const code = await runCli(args, io);
  const text = (stream: PassThrough): string => String(stream.read() ?? '');
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

async function recipeFile(text: string): Promise<string> {
  const file = path.join(home, 'mine.yaml');
  await writeFile(file, text);
  return file;
}

/** A recipe that reads a data file, over the settings of one that comes with the package. */
async function recipeOver(data: string): Promise<string> {
  return recipeFile(
    [
      'extends: smoke',
      'name: mine',
      `data: { train: { source: gsm8k, path: ${data} } }`,
      'prompt: { template: raw }',
    ].join('\n'),
  );
}

describe('a recipe that is wrong ends with exit code 2 and names', () => {
  it.each([
    ['a recipe that does not exist', ['train', 'nope'], /no recipe is named "nope"; expected one of/],
    ['a recipe file that does not exist', ['train', './nope.yaml'], /nope\.yaml does not exist/],
    [
      'an unknown key',
      ['train', 'smoke', '--set', 'rollout.groupSze=4'],
      /groupSze[^]*Did you mean rollout\.groupSize/,
    ],
    ['a wrong type', ['train', 'smoke', '--set', 'rollout.groupSize=many'], /rollout\.groupSize[^]*many/],
    [
      'an unknown estimator',
      ['train', 'smoke', '--set', 'algorithm.advantage.kind=gae'],
      /algorithm\.advantage\.kind[^]*gae[^]*grpo/,
    ],
    [
      'sizes that do not divide',
      ['train', 'smoke', '--set', 'training.minibatchRows=50'],
      /minibatchRows[^]*50/,
    ],
    ['an override without a value', ['train', 'smoke', '--set', 'seed'], /seed/],
  ])('%s', async (_, args, message) => {
    const { code, stderr } = await rekindle(...args);
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
    expect(await readdir(home)).toEqual([]);
  });

  it('the line of a file that is not YAML', async () => {
    const { code, stderr } = await rekindle('train', await recipeFile('name: x\nmodel: [1,\n'));
    expect(stderr).toMatch(/mine\.yaml/);
    expect(stderr).toMatch(/line|:\d+/);
    expect(code).toBe(2);
  });
});

describe('files that a recipe names are checked before anything starts', () => {
  it('a missing data file ends with exit code 3', async () => {
    const { code, stderr } = await rekindle('train', await recipeOver('./questions.jsonl'));
    expect(stderr).toMatch(/questions\.jsonl/);
    expect(code).toBe(3);
    expect(await readdir(home)).toEqual(['mine.yaml']);
  });

  it('a broken line ends with exit code 3 and its file and line', async () => {
    await writeFile(
      path.join(home, 'questions.jsonl'),
      '{"question":"1+1?","answer":"#### 2"}\n{"question":\n',
    );
    const { code, stderr } = await rekindle('train', await recipeOver('./questions.jsonl'));
    expect(stderr).toMatch(/questions\.jsonl[^]*2/);
    expect(code).toBe(3);
  });

  it('a model folder without a file ends with exit code 4 and the file’s name', async () => {
    await mkdir(path.join(home, 'model'));
    const recipe = await recipeFile(
      [
        'name: mine',
        'model: { path: ./model }',
        'data: { train: { source: addition } }',
        'rewards: [{ kind: exact-match }]',
        'rollout: { tasksPerIteration: 4, groupSize: 2, maxNewTokens: 4 }',
        'training: { iterations: 1, minibatchRows: 8, optimizer: { learningRate: 0.001 } }',
      ].join('\n'),
    );
    const { code, stderr } = await rekindle('train', recipe);
    expect(stderr).toMatch(/model has no config\.json/);
    expect(code).toBe(4);
  });
});

describe('the surroundings of a run', () => {
  it('a store that cannot be written ends with exit code 7', async () => {
    await writeFile(path.join(home, 'runs'), 'a file where the folder should be');
    const { code, stderr } = await rekindle('train', 'smoke');
    expect(stderr).toMatch(/StoreError[^]*runs/);
    expect(code).toBe(7);
    expect(await readdir(home)).toEqual(['runs']);
  });

  it('an address where no Temporal answers ends with exit code 6', { timeout: 30_000 }, async () => {
    const { code, stderr } = await rekindle('status', 'some-run', '--address', '127.0.0.1:1');
    expect(stderr).toMatch(/Temporal does not answer at 127\.0\.0\.1:1/);
    expect(code).toBe(6);
  });

  it('a port that another program has ends with exit code 5', { timeout: 60_000 }, async () => {
    const other = await listen();
    const { port } = other.address() as AddressInfo;
    const program = path.join(home, 'temporal');
    await writeFile(program, '#!/bin/sh\necho "temporal version 1.9.1 (Server 1.32.0, UI 2.0.0)"\n', {
      mode: 0o755,
    });
    vi.stubEnv('REKINDLE_TEMPORAL_BIN', program);
    vi.stubEnv('REKINDLE_TEMPORAL_PORT', String(port));
    try {
      const { code, stderr } = await rekindle('train', 'smoke');
      expect(stderr).toMatch(new RegExp(`${port}[^]*taken`));
      expect(code).toBe(5);
    } finally {
      vi.unstubAllEnvs();
      other.close();
    }
  });

  it('a run that nobody knows ends with exit code 9', async () => {
    for (const command of ['verify', 'report', 'export']) {
      const { code, stderr } = await rekindle(command, 'nobody');
      expect(stderr).toMatch(/no run nobody/);
      expect(code).toBe(9);
    }
  });
});

describe('a command line that is wrong ends with exit code 64', () => {
  it.each([
    ['an unknown command', ['trian'], /unknown command 'trian'[^]*train/],
    ['an unknown option', ['train', 'smoke', '--sett', 'a=1'], /unknown option '--sett'/],
    ['a missing argument', ['watch'], /missing required argument 'run'/],
    ['a malformed run id', ['train', 'smoke', '--run', 'My Run'], /"My Run": expected at most 63/],
    ['an unknown pool', ['up', '--pools', 'train,gpu'], /"gpu"; expected some of control/],
    ['a setting that cannot be changed', ['set', 'x', 'seed=1'], /seed[^]*learningRate, temperature/],
    [
      'a setting that is no number',
      ['set', 'x', 'learningRate=fast'],
      /learningRate=fast: expected a positive number, at most 1, found "fast"/,
    ],
    [
      'a setting without a value',
      ['set', 'x', 'learningRate='],
      /learningRate=: expected a positive number, at most 1, found ""/,
    ],
    [
      'a setting that is given twice',
      ['set', 'x', 'temperature=1', 'temperature=2'],
      /temperature=2: given twice/,
    ],
    [
      'a version that is no number',
      ['export', 'x', '--version', 'last'],
      /--version "last": expected a whole number/,
    ],
    ['a chat without a terminal or a prompt', ['chat', 'x'], /--prompt/],
    ['detaching where nothing would go on', ['train', 'smoke', '--detach'], /--detach[^]*rekindle up/],
  ])('%s', async (_, args, message) => {
    const { code, stderr } = await rekindle(...args);
    expect(stderr).toMatch(message);
    expect(code).toBe(64);
  });
});

describe('output', () => {
  it('with --json is one object on stdout, the message on stderr', async () => {
    const { code, stdout, stderr } = await rekindle('train', 'nope', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      error: { kind: 'RecipeError', message: expect.stringContaining('nope') as string },
    });
    expect(stderr).toMatch(/^RecipeError: /);
    expect(code).toBe(2);
  });

  it.each([
    ['an unknown command', ['trian', '--json'], "unknown command 'trian'"],
    ['a missing argument', ['status', '--json'], "missing required argument 'run'"],
    ['an unknown option', ['plan', 'smoke', '--json', '--sett'], "unknown option '--sett'"],
  ])('with --json is one object also for %s', async (_, args, message) => {
    const { code, stdout } = await rekindle(...args);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { kind: 'UsageError', message: expect.stringContaining(message) as string },
    });
    expect(code).toBe(64);
  });

  it('shows no stack unless it is asked for', async () => {
    expect((await rekindle('train', 'nope')).stderr).not.toMatch(/ at /);
    expect((await rekindle('train', 'nope', '--verbose')).stderr).toMatch(/\n {4}at /);
  });

  it('of plan --json is the plan, and plan starts nothing', async () => {
    const { code, stdout } = await rekindle('plan', 'smoke', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ recipe: 'smoke', ready: true, iteration: { groupSize: 4 } });
    expect(code).toBe(0);
    expect(await readdir(home)).toEqual([]);
  });

  it.each([
    ['a data file', 3, 'rows.jsonl', 'data.train={source: gsm8k, path: ./rows.jsonl}'],
    ['the model folder', 4, 'absent', 'model={path: ./absent}'],
  ])('of plan that lacks %s is the plan too, with exit code %i', async (_, expected, name, override) => {
    const overrides = ['--set', override, '--set', 'prompt.template=raw', '--set', 'evaluation=null'];
    const { code, stdout } = await rekindle('plan', 'smoke', '--json', ...overrides);
    expect(JSON.parse(stdout)).toMatchObject({
      ready: false,
      missing: [expect.stringContaining(name) as string],
    });
    expect(code).toBe(expected);
  });

  it('of --help and --version goes to stdout, with exit code 0', async () => {
    expect(await rekindle('--version')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
    });
    expect((await rekindle('--help')).stdout).toMatch(/Usage: rekindle/);
  });
});

function listen(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}
