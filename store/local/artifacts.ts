/**
 * Artifacts on a local disk. Bytes are hashed before they get their name, and hashed again whenever they are handed out.
 * A file that is added first leaves its own path: if it only got a second name, a retry that writes to the old path
 * would change the artifact.
 */
import { createHash } from 'node:crypto';
import { chmod, copyFile, readFile, rename, stat } from 'node:fs/promises';
import { RekindleError } from '../../core/errors.ts';
import type { Ref } from '../../core/refs.ts';
import type { Store } from '../store.ts';
import {
  createIfAbsent,
  inFolder,
  publish,
  removeQuietly,
  temporaryName,
  withFile,
} from './durable-files.ts';
import { errorCode, guarded, unlessAbsent } from './faults.ts';
import type { Layout } from './layout.ts';

type Artifacts = Pick<Store, 'putBytes' | 'putFile' | 'getBytes' | 'localPath' | 'check'>;

const chunkBytes = 1 << 20;

export function localArtifacts(layout: Layout): Artifacts {
  const checkedPaths = new Map<string, Promise<string>>();

  async function putBytes(bytes: Uint8Array, mediaType: string): Promise<Ref> {
    const hex = createHash('sha256').update(bytes).digest('hex');
    const final = layout.artifactOf(hex);
    await guarded('add artifact', final, () => createIfAbsent(final, bytes, layout.temporary));
    return { hash: `sha256:${hex}`, size: bytes.byteLength, mediaType };
  }

  async function putFile(path: string, mediaType: string): Promise<Ref> {
    const temporary = temporaryName(layout.temporary);
    return guarded('add to the store the file', path, async () => {
      const taken = await inFolder(layout.temporary, () => takeOver(path, temporary));
      try {
        await chmod(temporary, 0o444);
        await withFile(temporary, (file) => file.sync());
        const { hex, size } = await digestFile(temporary);
        await publish(temporary, layout.artifactOf(hex));
        if (taken === 'copied') await removeQuietly(path);
        return { hash: `sha256:${hex}`, size, mediaType };
      } catch (error) {
        if (taken === 'moved') await rename(temporary, path).catch(() => undefined);
        await removeQuietly(temporary);
        throw error;
      }
    });
  }

  async function getBytes(ref: Ref): Promise<Uint8Array> {
    const path = layout.artifact(ref);
    const bytes = await guarded('read artifact', path, () => unlessAbsent(readFile(path)));
    if (bytes === undefined) throw missing(ref, path);
    const hex = createHash('sha256').update(bytes).digest('hex');
    requireMatch(ref, path, { hex, size: bytes.byteLength });
    return bytes;
  }

  async function check(ref: Ref): Promise<void> {
    const path = layout.artifact(ref);
    const found = await guarded('read artifact', path, () => unlessAbsent(digestFile(path)));
    if (found === undefined) throw missing(ref, path);
    requireMatch(ref, path, found);
  }

  async function localPath(ref: Ref): Promise<string> {
    const path = layout.artifact(ref);
    const status = await guarded('read artifact', path, () => unlessAbsent(stat(path)));
    if (status === undefined) throw missing(ref, path);
    let checking = checkedPaths.get(ref.hash);
    if (checking === undefined) {
      checking = check(ref).then(() => path);
      checkedPaths.set(ref.hash, checking);
      checking.catch(() => checkedPaths.delete(ref.hash));
    }
    return checking;
  }

  return { putBytes, putFile, getBytes, localPath, check };
}

/** Moves a file to a temporary name, or copies it when it is on another device. */
async function takeOver(path: string, temporary: string): Promise<'moved' | 'copied'> {
  try {
    await rename(path, temporary);
    return 'moved';
  } catch (error) {
    if (errorCode(error) !== 'EXDEV') throw error;
    await copyFile(path, temporary);
    return 'copied';
  }
}

async function digestFile(path: string): Promise<{ hex: string; size: number }> {
  return withFile(path, async (file) => {
    const hash = createHash('sha256');
    const buffer = Buffer.allocUnsafe(chunkBytes);
    let size = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes);
      if (bytesRead === 0) return { hex: hash.digest('hex'), size };
      hash.update(buffer.subarray(0, bytesRead));
      size += bytesRead;
    }
  });
}

function missing(ref: Ref, path: string): RekindleError {
  return new RekindleError('StoreError', `artifact ${ref.hash} is missing: expected the file ${path}`, {
    hint: 'Restore this file from a copy of the store, or start the run again under a new id.',
    permanent: true,
  });
}

function requireMatch(ref: Ref, path: string, found: { hex: string; size: number }): void {
  if (`sha256:${found.hex}` === ref.hash && found.size === ref.size) return;
  const what = `expected ${ref.hash} of ${ref.size} bytes, found sha256:${found.hex} of ${found.size} bytes`;
  throw new RekindleError('CorruptArtifactError', `${path}: damaged artifact: ${what}`, {
    hint: 'Delete the damaged file and restore it from a copy of the store.',
  });
}
