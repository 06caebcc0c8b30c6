/** Training that goes on in another process, on another number of threads, from what was saved. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { writeTinyModel, tinyConfig } from '../../tests/fixtures/tiny-model.ts';
import { kinds, type UpdateRequest } from '../../tests/fixtures/update-policies.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import { writeNewAdapter } from '../adapters/adapter-files.ts';
import type { SavedPolicy } from '../engine-port.ts';

const path = (name: string): string => fileURLToPath(new URL(`../../tests/${name}`, import.meta.url));

async function inProcess(request: UpdateRequest): Promise<Record<string, SavedPolicy>> {
  const args = ['--import', path('harness/typescript-loader.mjs'), path('fixtures/update-policies.ts')];
  const { stdout } = await promisify(execFile)(process.execPath, [...args, JSON.stringify(request)]);
  return JSON.parse(stdout) as Record<string, SavedPolicy>;
}

it('comes to the bytes of uninterrupted training, for every kind of policy', async () => {
  const folder = scratchFolder();
  await writeTinyModel(folder);
  const base = { tag: 'base', path: join(folder, 'model.safetensors') };
  const adapterPath = join(folder, 'adapter.safetensors');
  const adapterTag = await writeNewAdapter(adapterPath, tinyConfig, kinds['adapter']!.setup.adapter!, 1);
  const adapter = { tag: adapterTag, path: adapterPath, base };
  const start = Object.fromEntries(
    Object.keys(kinds).map((kind) => [
      kind,
      { weights: kind === 'adapter' ? adapter : base, optimizer: null },
    ]),
  );
  const [straight, half] = await Promise.all([
    inProcess({ threads: 1, folder: join(folder, 'straight'), from: 0, to: 3, policies: start }),
    inProcess({ threads: 1, folder: join(folder, 'half'), from: 0, to: 1, policies: start }),
  ]);
  const policies = Object.fromEntries(
    Object.entries(half).map(([kind, { weightsTag, weightsPath, optimizerPath }]) => [
      kind,
      {
        weights: { tag: weightsTag, path: weightsPath, ...(kind === 'adapter' && { base }) },
        optimizer: { tag: 'moments', path: optimizerPath },
      },
    ]),
  );
  const resumed = await inProcess({ threads: 2, folder: join(folder, 'resumed'), from: 1, to: 3, policies });
  for (const kind of Object.keys(kinds)) {
    const [a, b] = [straight[kind]!, resumed[kind]!];
    expect(b.weightsTag, kind).toBe(a.weightsTag);
    expect(half[kind]!.weightsTag, kind).not.toBe(a.weightsTag);
    expect((await readFile(b.optimizerPath)).equals(await readFile(a.optimizerPath)), kind).toBe(true);
  }
}, 120_000);
