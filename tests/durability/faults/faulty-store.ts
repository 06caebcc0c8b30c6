/** A store whose writes pass fault points: before it writes, and when what was written is there but the writer does not know yet. */
import { RekindleError } from '../../../core/errors.ts';
import type { Store } from '../../../store/store.ts';
import type { Boundary } from './fault-point.ts';

/** Resolves to true when the write is to fail. */
export type PassPoint = (boundary: Boundary) => Promise<boolean>;

export function faultyStore(store: Store, pass: PassPoint): Store {
  const between = async <T>(before: Boundary, after: Boundary, write: () => Promise<T>): Promise<T> => {
    if (await pass(before)) {
      throw new RekindleError('StoreError', `cannot write to ${store.location}: EIO: i/o error, write`, {
        hint: 'Check the disk that holds the store.',
        permanent: false,
      });
    }
    const written = await write();
    await pass(after);
    return written;
  };
  return {
    ...store,
    putBytes: (bytes, type) =>
      between('before-artifact', 'after-artifact', () => store.putBytes(bytes, type)),
    putFile: (path, type) => between('before-artifact', 'after-artifact', () => store.putFile(path, type)),
    recordResult: (run, key, recorded) =>
      between('before-result', 'after-result', () => store.recordResult(run, key, recorded)),
    append: (entry) => between('before-commit', 'after-commit', () => store.append(entry)),
  };
}
