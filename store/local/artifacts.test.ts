import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import { openLocalStore } from './open-local-store.ts';

function artifactPath(store: string, hash: string): string {
  const hex = hash.slice('sha256:'.length);
  return join(store, 'artifacts', 'sha256', hex.slice(0, 2), hex);
}

function flipBit(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 1;
  chmodSync(path, 0o644);
  writeFileSync(path, bytes);
}

test('whatever bytes are put come back, by bytes and by path, from this store and from one opened anew', async () => {
  const folder = scratchFolder();
  const store = openLocalStore(folder);
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 5000 }), async (bytes) => {
      const ref = await store.putBytes(bytes, 'text/plain');
      expect(ref.size).toBe(bytes.length);
      expect(Buffer.from(await openLocalStore(folder).getBytes(ref))).toEqual(Buffer.from(bytes));
      expect(readFileSync(await store.localPath(ref))).toEqual(Buffer.from(bytes));
    }),
    { numRuns: 30 },
  );
});

test('a hash is that of the bytes (FIPS 180-2, appendix B.1)', async () => {
  const ref = await openLocalStore(scratchFolder()).putBytes(Buffer.from('abc'), 'text/plain');
  expect(ref.hash).toBe('sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('writers of the same bytes at the same time all succeed and leave one artifact and no temporary file', async () => {
  const folder = scratchFolder();
  const store = openLocalStore(folder);
  const bytes = Buffer.alloc(100_000, 'same');
  const refs = await Promise.all(Array.from({ length: 20 }, () => store.putBytes(bytes, 'text/plain')));
  expect(new Set(refs.map((ref) => ref.hash)).size).toBe(1);
  expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
});

test('a file that was added leaves its path, so that writing there again cannot change the artifact', async () => {
  const folder = scratchFolder();
  const store = openLocalStore(join(folder, 'store'));
  const path = join(folder, 'weights.bin');
  writeFileSync(path, 'version 1');
  const ref = await store.putFile(path, 'text/plain');
  expect(existsSync(path)).toBe(false);
  writeFileSync(path, 'version 2');
  expect(Buffer.from(await store.getBytes(ref)).toString()).toBe('version 1');
});

test('a file on another device is copied', async ({ skip }) => {
  const otherDevice = '/dev/shm';
  if (!existsSync(otherDevice)) skip('there is no second file system here');
  const path = join(otherDevice, `rekindle-test-${process.pid}`);
  writeFileSync(path, 'from elsewhere');
  const store = openLocalStore(scratchFolder());
  const ref = await store.putFile(path, 'text/plain');
  expect(existsSync(path)).toBe(false);
  expect(Buffer.from(await store.getBytes(ref)).toString()).toBe('from elsewhere');
});

test('adding a file that is not there names its path', async () => {
  const store = openLocalStore(scratchFolder());
  await expect(store.putFile('/nowhere/weights.bin', 'text/plain')).rejects.toMatchObject({
    kind: 'StoreError',
    message: expect.stringContaining('/nowhere/weights.bin') as string,
  });
});

test('one flipped bit is never handed out', async () => {
  const folder = scratchFolder();
  const store = openLocalStore(folder);
  const ref = await store.putBytes(Buffer.alloc(70_000, 'x'), 'text/plain');
  const path = artifactPath(folder, ref.hash);
  flipBit(path);
  for (const read of ['getBytes', 'localPath', 'check'] as const) {
    await expect(store[read](ref)).rejects.toMatchObject({
      kind: 'CorruptArtifactError',
      message: expect.stringContaining(path) as string,
    });
  }
});

test('a path is checked once a process, bytes and checks every time', async () => {
  const folder = scratchFolder();
  const store = openLocalStore(folder);
  const ref = await store.putBytes(Buffer.from('held'), 'text/plain');
  await store.localPath(ref);
  flipBit(artifactPath(folder, ref.hash));
  await expect(store.localPath(ref)).resolves.toBe(artifactPath(folder, ref.hash));
  await expect(store.getBytes(ref)).rejects.toMatchObject({ kind: 'CorruptArtifactError' });
  await expect(openLocalStore(folder).localPath(ref)).rejects.toMatchObject({ kind: 'CorruptArtifactError' });
});

test('a missing artifact is told from a damaged one, and a retry cannot help', async () => {
  const folder = scratchFolder();
  const store = openLocalStore(folder);
  const ref = await store.putBytes(Buffer.from('lost'), 'text/plain');
  await store.localPath(ref);
  rmSync(artifactPath(folder, ref.hash));
  for (const read of ['getBytes', 'localPath', 'check'] as const) {
    await expect(store[read](ref)).rejects.toMatchObject({ kind: 'StoreError', retryable: false });
  }
});

test('a ref of the wrong size or shape is refused', async () => {
  const store = openLocalStore(scratchFolder());
  const ref = await store.putBytes(Buffer.from('four'), 'text/plain');
  await expect(store.getBytes({ ...ref, size: 5 })).rejects.toMatchObject({ kind: 'CorruptArtifactError' });
  await expect(store.getBytes({ ...ref, hash: '../../etc/passwd' })).rejects.toMatchObject({
    kind: 'StoreError',
  });
});
