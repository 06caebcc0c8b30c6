import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { refSchema } from '../../core/refs.ts';
import { bundleScript } from '../../tests/harness/bundle-script.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import { openLocalStore } from './open-local-store.ts';

let scripts: string;
let writerScript: string;
beforeAll(async () => {
  scripts = mkdtempSync(join(tmpdir(), 'rekindle-test-'));
  writerScript = await bundleScript('tests/fixtures/store-writer.ts', scripts);
}, 60_000);
afterAll(() => rmSync(scripts, { recursive: true }));

interface Writer {
  child: ChildProcess;
  go(): void;
  exited: Promise<NodeJS.Signals | null>;
  /** The confirmations it printed, whole lines only. */
  confirmed(): unknown[];
}

async function startWriter(mode: string, store: string, name: string, count: number): Promise<Writer> {
  const child = spawn(process.execPath, [writerScript, mode, store, name, String(count)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, 'close').then(([, signal]) => signal as NodeJS.Signals | null);
  while (!output.startsWith('"ready"\n')) await once(child.stdout, 'data');
  return {
    child,
    go: () => child.stdin.write('go\n'),
    exited,
    confirmed: () =>
      output
        .split('\n')
        .slice(1, -1)
        .map((line) => JSON.parse(line) as unknown),
  };
}

const raceSchema = z.array(z.strictObject({ i: z.number(), winner: z.string() }));

async function race(mode: string, store: string, names: string[], count: number): Promise<string[][]> {
  const writers = await Promise.all(names.map((name) => startWriter(mode, store, name, count)));
  writers.forEach((writer) => writer.go());
  await Promise.all(writers.map((writer) => writer.exited));
  return writers.map((writer) => raceSchema.parse(writer.confirmed()).map(({ winner }) => winner));
}

test('processes that record the same keys are all told the same winners', async () => {
  const folder = scratchFolder();
  const count = 60;
  const [told, ...others] = await race('record', folder, ['one', 'two', 'three'], count);
  for (const other of others) expect(other).toEqual(told);
  expect(told).toHaveLength(count);
  const store = openLocalStore(folder);
  for (const [i, winner] of told!.entries()) {
    expect((await store.findResult('race', `key-${i}`))?.value).toBe(winner);
  }
}, 60_000);

test('two processes that append the same versions build one log, and both are told of it', async () => {
  const folder = scratchFolder();
  const [told, other] = await race('append', folder, ['one', 'two'], 60);
  expect(other).toEqual(told);
  const store = openLocalStore(folder);
  for (const [version, winner] of told!.entries()) {
    const entry = await store.entry('race', version);
    expect(entry?.weights.hash).toBe(winner);
    expect(entry?.parent).toBe(version === 0 ? null : told![version - 1]);
  }
  expect((await store.head('race'))?.version).toBe(59);
}, 60_000);

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map((item) => join(item.parentPath, item.name));
}

test('a writer killed at any moment leaves whole artifacts and records, and all that it was promised', async () => {
  const folder = scratchFolder();
  const store = openLocalStore(folder);
  let cutShort = 0;
  for (let life = 0; life < 12; life++) {
    const writer = await startWriter('write', folder, `life-${life}`, 1_000_000);
    writer.go();
    await new Promise((resolve) => setTimeout(resolve, 20 + ((life * 37) % 150)));
    writer.child.kill('SIGKILL');
    expect(await writer.exited).toBe('SIGKILL');
    for (const ref of z.array(refSchema).parse(writer.confirmed())) await store.check(ref);
  }
  for (const path of filesUnder(join(folder, 'artifacts'))) {
    const hex = createHash('sha256').update(readFileSync(path)).digest('hex');
    expect(path.endsWith(hex)).toBe(true);
  }
  for (const key of await store.listResults('doomed', '')) {
    await store.check(refSchema.parse((await store.findResult('doomed', key))!.value));
  }
  // The witness that kills hit writes, not the pauses between them: temporary files that nobody came back for.
  if (existsSync(join(folder, 'tmp'))) cutShort = readdirSync(join(folder, 'tmp')).length;
  expect(cutShort).toBeGreaterThan(0);
  expect(filesUnder(join(folder, 'artifacts')).length).toBeGreaterThan(0);
}, 120_000);
