import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RekindleError } from '../../core/errors.ts';
import { startHub, type HubServer } from '../../tests/fixtures/hub-server.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import { hubFile } from './hub-file.ts';
import { openDataSet } from './open-data-set.ts';

const name = 'owner/sums:data/train.jsonl';
let hub: HubServer;
let cache: string;

beforeEach(async () => {
  const row = '{"question": "How many is a dozen?", "answer": "#### 12"}\n';
  hub = await startHub('owner/sums', { 'data/train.jsonl': Buffer.from(row) }, 'dataset');
  cache = scratchFolder();
  vi.stubEnv('HF_ENDPOINT', hub.url);
  vi.stubEnv('HF_HUB_CACHE', cache);
  vi.stubEnv('HF_TOKEN', 'hf_secret');
  vi.stubEnv('HF_HUB_OFFLINE', undefined);
});
afterEach(() => vi.unstubAllEnvs());

async function refusal(file: string): Promise<RekindleError> {
  const error: unknown = await hubFile(file).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(RekindleError);
  expect((error as RekindleError).kind).toBe('DataError');
  return error as RekindleError;
}

test('a file comes from the endpoint with the token, and makes a data set', async () => {
  const evaluation = { source: 'addition', digits: 3 } as const;
  const data = await openDataSet({ train: { source: 'gsm8k', hub: name }, evaluation }, 'train', 1);
  expect(data.taskAt(0)).toEqual({ id: 'gsm8k-0@0', prompt: 'How many is a dozen?', answer: '12' });
});

test('a file in the cache, laid out as other hub clients do, is used without a request, offline too', async () => {
  const path = await hubFile(name);
  expect(path).toBe(join(cache, 'datasets--owner--sums', 'snapshots', hub.commit, 'data', 'train.jsonl'));
  expect((await readFile(path)).equals(hub.files['data/train.jsonl']!)).toBe(true);
  hub.requests = [];
  vi.stubEnv('HF_HUB_OFFLINE', '1');
  expect(await hubFile(name)).toBe(path);
  expect(await hubFile(`owner/sums@${hub.commit}:data/train.jsonl`)).toBe(path);
  expect(hub.requests).toEqual([]);
});

test('offline, a file that is not in the cache is refused without a request', async () => {
  vi.stubEnv('HF_HUB_OFFLINE', '1');
  expect((await refusal(name)).message).toContain('is not in the cache');
  expect(hub.requests).toEqual([]);
});

test('a wrong token, an unknown data set and an unknown file are told apart', async () => {
  vi.stubEnv('HF_TOKEN', 'hf_wrong');
  expect((await refusal(name)).hint).toContain('set HF_TOKEN');
  vi.stubEnv('HF_TOKEN', 'hf_secret');
  expect((await refusal('owner/other:data/train.jsonl')).hint).toContain('Check the owner');
  expect((await refusal('owner/sums:absent.jsonl')).message).toBe(
    'data set owner/sums at main has no file absent.jsonl',
  );
});

test('a name that is no file of a repository is refused', async () => {
  expect((await refusal('owner/sums')).message).toContain('expected <owner>/<name>:<path in the repository>');
});
