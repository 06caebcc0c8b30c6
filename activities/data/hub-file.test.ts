import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RekindleError } from '../../core/errors.ts';
import { hubFile } from './hub-file.ts';
import { openDataSet } from './open-data-set.ts';

/** A hub with one private data set of one file: what `paths-info` and `resolve` answer of the real one. */
const hub = {
  commit: 'a'.repeat(40),
  content: '{"question": "How many is a dozen?", "answer": "#### 12"}\n',
  announcedHash: '',
  token: 'hf_secret',
  requests: [] as string[],
};

let server: Server;
let cache: string;

beforeEach(async () => {
  hub.requests = [];
  hub.announcedHash = createHash('sha256').update(hub.content).digest('hex');
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  cache = await mkdtemp(join(tmpdir(), 'rekindle-hub-'));
  vi.stubEnv('HF_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  vi.stubEnv('HF_HUB_CACHE', cache);
  vi.stubEnv('HF_TOKEN', hub.token);
  vi.stubEnv('HF_HUB_OFFLINE', undefined);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  server.close();
  await rm(cache, { recursive: true });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  hub.requests.push(`${request.method} ${request.url}`);
  if (request.headers.authorization !== `Bearer ${hub.token}`) return void response.writeHead(401).end();
  if (/^\/api\/datasets\/owner\/sums\/paths-info\/(main|a{40})$/.test(request.url!)) {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { paths } = JSON.parse(body) as { paths: string[] };
    const file = {
      type: 'file',
      path: 'data/train.jsonl',
      size: hub.content.length,
      oid: 'b'.repeat(40),
      lfs: { oid: hub.announcedHash, size: hub.content.length, pointerSize: 130 },
      lastCommit: { id: hub.commit, title: 'add', date: '2024-01-01T00:00:00.000Z' },
    };
    response.writeHead(200, { 'content-type': 'application/json' });
    return void response.end(JSON.stringify(paths.includes(file.path) ? [file] : []));
  }
  if (request.url === `/datasets/owner/sums/resolve/${hub.commit}/data/train.jsonl`) {
    const range = request.headers.range === 'bytes=0-0';
    const size = hub.content.length;
    response.writeHead(range ? 206 : 200, {
      etag: `"${hub.announcedHash}"`,
      ...(range ? { 'content-range': `bytes 0-0/${size}` } : {}),
    });
    return void response.end(range ? hub.content.slice(0, 1) : hub.content);
  }
  response.writeHead(404).end();
}

async function refusal(name: string): Promise<RekindleError> {
  const error: unknown = await hubFile(name).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(RekindleError);
  expect((error as RekindleError).kind).toBe('DataError');
  return error as RekindleError;
}

const name = 'owner/sums:data/train.jsonl';

test('a file comes from the endpoint with the token, and makes a data set', async () => {
  const evaluation = { source: 'addition', digits: 3 } as const;
  const data = await openDataSet({ train: { source: 'gsm8k', hub: name }, evaluation }, 'train', 1);
  expect(data.taskAt(0)).toEqual({ id: 'gsm8k-0@0', prompt: 'How many is a dozen?', answer: '12' });
});

test('a file in the cache, laid out as other hub clients do, is used without a request, offline too', async () => {
  const path = await hubFile(name);
  expect(path).toBe(join(cache, 'datasets--owner--sums', 'snapshots', hub.commit, 'data', 'train.jsonl'));
  expect(await readFile(join(cache, 'datasets--owner--sums', 'refs', 'main'), 'utf8')).toBe(hub.commit);
  hub.requests = [];
  vi.stubEnv('HF_HUB_OFFLINE', '1');
  expect(await hubFile(name)).toBe(path);
  expect(await hubFile(`owner/sums@${hub.commit}:data/train.jsonl`)).toBe(path);
  expect(hub.requests).toEqual([]);
});

test('downloads at the same time leave one whole file and nothing half-written', async () => {
  const paths = await Promise.all([hubFile(name), hubFile(name), hubFile(name)]);
  expect(new Set(paths).size).toBe(1);
  expect(await readFile(paths[0], 'utf8')).toBe(hub.content);
  expect(await readdir(join(cache, 'datasets--owner--sums', 'blobs'))).toEqual([hub.announcedHash]);
});

test('bytes that do not match the announced hash are refused and not kept', async () => {
  hub.announcedHash = 'c'.repeat(64);
  expect((await refusal(name)).message).toContain(`expected ${hub.announcedHash}`);
  expect(await readdir(join(cache, 'datasets--owner--sums', 'blobs'))).toEqual([]);
});

test('offline, a file that is not in the cache is refused without a request', async () => {
  vi.stubEnv('HF_HUB_OFFLINE', '1');
  expect((await refusal(name)).message).toContain('is not in the cache');
  expect(hub.requests).toEqual([]);
});

test('a wrong token, an unknown data set, an unknown file and a dead endpoint are told apart', async () => {
  vi.stubEnv('HF_TOKEN', 'hf_wrong');
  expect((await refusal(name)).hint).toContain('set HF_TOKEN');
  vi.stubEnv('HF_TOKEN', hub.token);
  expect((await refusal('owner/other:data/train.jsonl')).hint).toContain('Check the owner');
  expect((await refusal('owner/sums:absent.jsonl')).message).toBe(
    'data set owner/sums at main has no file absent.jsonl',
  );
  vi.stubEnv('HF_ENDPOINT', 'http://127.0.0.1:9');
  expect((await refusal(name)).hint).toContain('Check the network and HF_ENDPOINT');
});
