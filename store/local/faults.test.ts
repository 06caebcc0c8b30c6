import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { logEntry } from '../../tests/fixtures/log-entry.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import type { Provenance } from '../store.ts';
import { openLocalStore } from './open-local-store.ts';

const provenance: Provenance = { startedAt: 'a', finishedAt: 'b', attempt: 1, worker: 'test' };

/** Mounts a small memory file system on a new folder; undefined where this process may not. */
function smallDisk(options: string): string | undefined {
  const folder = scratchFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', [folder]));
  return folder;
}

test('a full disk is told with the path; nothing torn is left, and the same call succeeds once there is space', async ({
  skip,
}) => {
  const disk = smallDisk('size=256k');
  if (disk === undefined) return skip('mounting a file system is not permitted here');
  const store = openLocalStore(join(disk, 'store'));
  await store.probe();
  const ballast = join(disk, 'ballast');
  writeFileSync(ballast, Buffer.alloc(150_000));
  const bytes = Buffer.alloc(180_000, 'w');

  await expect(store.putBytes(bytes, 'text/plain')).rejects.toMatchObject({
    kind: 'StoreError',
    retryable: true,
    message: expect.stringMatching(new RegExp(`${disk}.*no space left`)) as string,
    hint: expect.stringContaining('Free some space') as string,
  });
  expect(readdirSync(join(disk, 'store', 'tmp'))).toEqual([]);

  rmSync(ballast);
  const ref = await store.putBytes(bytes, 'text/plain');
  expect(Buffer.from(await store.getBytes(ref))).toEqual(bytes);
});

test('a file that did not fit stays where it was, so adding it can be tried again', async ({ skip }) => {
  const disk = smallDisk('size=256k');
  if (disk === undefined) return skip('mounting a file system is not permitted here');
  const path = join(scratchFolder(), 'weights.bin');
  writeFileSync(path, Buffer.alloc(400_000, 'w'));
  const store = openLocalStore(disk);
  await expect(store.putFile(path, 'text/plain')).rejects.toMatchObject({
    kind: 'StoreError',
    retryable: true,
  });
  expect(readdirSync(join(disk, 'tmp'))).toEqual([]);
  const elsewhere = openLocalStore(scratchFolder());
  expect((await elsewhere.putFile(path, 'text/plain')).size).toBe(400_000);
});

test('a read-only file system is told, and no retry is made', async ({ skip }) => {
  const disk = smallDisk('size=256k,ro');
  if (disk === undefined) return skip('mounting a file system is not permitted here');
  const store = openLocalStore(join(disk, 'store'));
  const entry = logEntry({ run: 'run', version: 0, parent: null, weightsSeed: '0' });
  for (const write of [
    () => store.probe(),
    () => store.putBytes(Buffer.from('x'), 'text/plain'),
    () => store.recordResult('run', 'key', { value: 1, provenance }),
    () => store.append(entry),
  ]) {
    await expect(write()).rejects.toMatchObject({
      kind: 'StoreError',
      retryable: false,
      message: expect.stringContaining('read-only') as string,
    });
  }
});

test('a folder without write permission is told', async ({ skip }) => {
  const folder = scratchFolder();
  chmodSync(folder, 0o555);
  if (process.getuid?.() === 0) {
    if (process.seteuid === undefined) return skip('root may write anywhere');
    process.seteuid(65534);
    onTestFinished(() => process.seteuid!(0));
  }
  await expect(openLocalStore(join(folder, 'store')).probe()).rejects.toMatchObject({
    kind: 'StoreError',
    retryable: false,
    message: expect.stringMatching(new RegExp(`${folder}/store.*permission denied`)) as string,
  });
});

test.each([
  ['the store itself', ''],
  ['its folder of artifacts', 'artifacts'],
  ['its temporary folder', 'tmp'],
])('a file in place of %s is told', async (_, name) => {
  const folder = join(scratchFolder(), 'store');
  if (name !== '') mkdirSync(folder);
  writeFileSync(join(folder, name), 'in the way');
  const put = openLocalStore(folder).putBytes(Buffer.from('x'), 'text/plain');
  await expect(put).rejects.toMatchObject({
    kind: 'StoreError',
    retryable: false,
    message: expect.stringContaining('is a file, not a folder') as string,
  });
});

test('the probe passes on a usable folder, leaves nothing, and keeps the temporary files of writers at work', async () => {
  const folder = scratchFolder();
  mkdirSync(join(folder, 'tmp'));
  const young = join(folder, 'tmp', 'young');
  writeFileSync(young, '');
  utimesSync(young, 0, 0);
  await openLocalStore(folder).probe();
  expect(readdirSync(join(folder, 'tmp'))).toEqual(['young']);
});
