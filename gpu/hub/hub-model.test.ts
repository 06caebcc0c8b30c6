import { mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RekindleError } from '../../core/errors.ts';
import { startHub, type HubServer } from '../../tests/fixtures/hub-server.ts';
import { tinyConfig, writeTinyModel } from '../../tests/fixtures/tiny-model.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import { openModelFolder } from '../model/model-folder.ts';
import { prepareModel } from '../model/prepare-model.ts';
import type { Progress } from './download-files.ts';
import { cachedModel, downloadModel } from './hub-model.ts';

const name = 'owner/tiny';
let hub: HubServer;
let cache: string;

beforeEach(async () => {
  const folder = scratchFolder();
  await writeTinyModel(folder);
  const files: Record<string, Buffer> = {
    'README.md': Buffer.from('not read'),
    'pytorch_model.bin': Buffer.alloc(5000),
  };
  for (const file of await readdir(folder)) files[file] = await readFile(join(folder, file));
  hub = await startHub(name, files);
  cache = scratchFolder();
  vi.stubEnv('HF_ENDPOINT', hub.url);
  vi.stubEnv('HF_HUB_CACHE', cache);
  vi.stubEnv('HF_TOKEN', 'hf_secret');
  vi.stubEnv('HF_HUB_OFFLINE', undefined);
});
afterEach(() => vi.unstubAllEnvs());

const repositoryFolder = (): string => join(cache, 'models--owner--tiny');
const blobs = (): Promise<string[]> => readdir(join(repositoryFolder(), 'blobs'));
const weightsRequests = (): string[] =>
  hub.requests.filter((request) => request.includes('/model.safetensors'));
async function refusal(model = name): Promise<RekindleError> {
  const error: unknown = await downloadModel(model).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RekindleError);
  expect((error as RekindleError).kind).toBe('ModelError');
  return error as RekindleError;
}

describe('downloadModel', () => {
  it('gets the files that are read, with progress, and a model that opens', async () => {
    const progress: Progress[] = [];
    const { path, pinned } = await downloadModel(name, { onProgress: (one) => progress.push({ ...one }) });
    expect(pinned).toBe(`${name}@${hub.commit}`);
    expect((await openModelFolder(path)).config).toEqual(tinyConfig);
    expect(await readdir(path)).not.toContain('README.md');
    expect(await readdir(path)).not.toContain('pytorch_model.bin');
    const { bytes, totalBytes } = progress.at(-1)!;
    expect(bytes).toBe(totalBytes);
    expect(bytes).toBeGreaterThan(hub.files['model.safetensors']!.length);
  });

  it('lays the cache out as other clients do, and uses what is in it', async () => {
    const { path } = await downloadModel(name);
    expect(path).toBe(join(repositoryFolder(), 'snapshots', hub.commit));
    expect(await readFile(join(repositoryFolder(), 'refs', 'main'), 'utf8')).toBe(hub.commit);
    expect(await readlink(join(path, 'config.json'))).toMatch(/^\.\.\/\.\.\/blobs\/[0-9a-f]{40}$/);
    expect(await readlink(join(path, 'model.safetensors'))).toMatch(/^\.\.\/\.\.\/blobs\/[0-9a-f]{64}$/);
    hub.requests = [];
    await downloadModel(name);
    expect(hub.requests).toHaveLength(1);
    vi.stubEnv('HF_HUB_OFFLINE', '1');
    expect((await downloadModel(name)).path).toBe(path);
    expect(await cachedModel(name)).toBe(path);
    expect(hub.requests).toHaveLength(1);
  });

  it('goes on where a broken connection stopped', async () => {
    let breaks = 3;
    hub.breakAfter = (path) => (path === 'model.safetensors' && breaks-- > 0 ? 30_000 : undefined);
    const { path } = await downloadModel(name);
    const ranges = weightsRequests().map((request) => request.split(' ')[2]);
    expect(ranges).toHaveLength(4);
    expect(ranges[0]).toBeUndefined();
    // How much of an answer arrives before its connection breaks is up to the network.
    for (const range of ranges.slice(1)) expect(range).toMatch(/^bytes=[1-9]\d*-$/);
    expect((await readFile(join(path, 'model.safetensors'))).equals(hub.files['model.safetensors']!)).toBe(
      true,
    );
  });

  it('takes over what a process left that is gone, and starts anew when that is damaged', async () => {
    const content = hub.files['model.safetensors']!;
    await downloadModel(name);
    const [blob] = (await blobs()).filter((hash) => hash.length === 64);
    for (const [left, ranges] of [
      [content.subarray(0, 50_000), ['bytes=50000-']],
      [Buffer.alloc(50_000), ['bytes=50000-', undefined]],
    ] as const) {
      cache = scratchFolder();
      vi.stubEnv('HF_HUB_CACHE', cache);
      await mkdir(join(repositoryFolder(), 'blobs'), { recursive: true });
      const host = hostname().replace(/[^\w]/g, '_');
      // No process has the largest number of all.
      await writeFile(join(repositoryFolder(), 'blobs', `${blob}.${host}-4194304.incomplete`), left);
      hub.requests = [];
      const { path } = await downloadModel(name);
      expect(weightsRequests().map((request) => request.split(' ')[2])).toEqual(ranges);
      expect((await readFile(join(path, 'model.safetensors'))).equals(content)).toBe(true);
      expect((await blobs()).filter((file) => file.endsWith('.incomplete'))).toEqual([]);
    }
  });

  it('waits and tries again when the hub is busy, and gives up with what has come kept', async () => {
    hub.failures = [503, 429];
    await downloadModel(name);
    cache = scratchFolder();
    vi.stubEnv('HF_HUB_CACHE', cache);
    hub.breakAfter = (path) => (path === 'model.safetensors' ? 0 : undefined);
    expect((await refusal()).hint).toContain('what has come is kept');
  }, 20_000);

  it('gives up on a hub that begins anew each time and never ends', async () => {
    hub.ignoresRanges = true;
    hub.breakAfter = (path) => (path === 'model.safetensors' ? 30_000 : undefined);
    expect((await refusal()).message).toContain('the connection broke after');
  }, 20_000);

  it('shares one download between calls at the same time', async () => {
    await Promise.all([downloadModel(name), downloadModel(name), downloadModel(name)]);
    expect(weightsRequests()).toHaveLength(1);
  });

  it('refuses contents that are not what the hub announced', async () => {
    hub.announced['model.safetensors'] = 'c'.repeat(64);
    expect((await refusal()).message).toMatch(
      /model\.safetensors: its SHA-256 is [0-9a-f]{64}, expected c{64}/,
    );
    expect((await blobs()).filter((file) => file.startsWith('c'))).toEqual([]);
    hub.announced = { 'config.json': 'd'.repeat(40) };
    expect((await refusal()).message).toMatch(/config\.json: its git hash is/);
  });

  it('gets the shards of an index, or the GGUF file that is named', async () => {
    const { 'model.safetensors': weights, ...others } = hub.files;
    hub.files = {
      ...others,
      'model.safetensors.index.json': Buffer.from('{}'),
      'model-00001-of-00002.safetensors': weights!,
      'a.gguf': Buffer.from('x'),
    };
    const { path } = await downloadModel(name);
    expect(await readdir(path)).toEqual(
      expect.arrayContaining(['model.safetensors.index.json', 'model-00001-of-00002.safetensors']),
    );
    expect(await downloadModel(`${name}:a.gguf`)).toEqual({
      path: join(path, 'a.gguf'),
      pinned: `${name}@${hub.commit}:a.gguf`,
    });
    expect((await refusal(`${name}:b.gguf`)).message).toContain('has no file b.gguf');
  });

  it('says what to do when there are no safetensors', async () => {
    delete hub.files['model.safetensors'];
    expect((await refusal()).message).toContain('has no model.safetensors, but pytorch_model.bin');
    expect((await refusal()).hint).toContain('Pickled weights are not read');
    hub.files['tiny.gguf'] = Buffer.from('x');
    expect((await refusal()).hint).toBe('Name the GGUF file: owner/tiny:tiny.gguf');
  });

  it('says what to do when the hub refuses, has no such model, or is offline', async () => {
    expect((await refusal('owner/absent')).hint).toContain('Check the owner, the name and the revision');
    vi.stubEnv('HF_TOKEN', 'hf_wrong');
    expect((await refusal()).hint).toContain('set HF_TOKEN');
    vi.stubEnv('HF_HUB_OFFLINE', '1');
    expect((await refusal()).message).toContain('is not in the cache');
  });

  it('does not write outside its folder, whatever the listing says', async () => {
    hub.files['../../evil-00001-of-00001.safetensors'] = Buffer.from('x');
    await downloadModel(name);
    expect(hub.requests.some((request) => request.includes('evil'))).toBe(false);
  });
});

it('a recipe with model.hub is prepared from the hub, and its commit is told', async () => {
  const model = await prepareModel({ model: { hub: name }, seed: 1 });
  expect(model.config).toEqual(tinyConfig);
  expect(model.hub).toBe(`${name}@${hub.commit}`);
});
