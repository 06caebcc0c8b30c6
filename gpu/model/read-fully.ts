/** Reading a stretch of a model's file, all of it or an error that names the file. */
import type { FileHandle } from 'node:fs/promises';
import { RekindleError } from '../../core/errors.ts';

/** One call of the system reads at most this many bytes. */
const chunkBytes = 1 << 24;

/** Fills `target` from `position` on. @throws RekindleError ModelError when the file cannot be read or ends before. */
export async function readFully(
  file: FileHandle,
  path: string,
  target: Uint8Array,
  position: number,
): Promise<void> {
  for (let done = 0; done < target.length;) {
    const length = Math.min(chunkBytes, target.length - done);
    const { bytesRead } = await file.read(target, done, length, position + done).catch((error: Error) => {
      throw new RekindleError('ModelError', `${path} cannot be read: ${error.message}`, { cause: error });
    });
    if (bytesRead === 0) {
      throw new RekindleError('ModelError', `${path}: ended at byte ${position + done} while it was read`);
    }
    done += bytesRead;
  }
}
