/** Faults of the file system, said in terms of the store: which path, what was tried, what to do. */
import { RekindleError } from '../../core/errors.ts';

interface Fault {
  problem: string;
  hint: string;
  permanent: boolean;
}

const notWritable: Fault = {
  problem: 'permission denied',
  hint: 'Let this user write to the folder of the store, or choose another folder.',
  permanent: true,
};
const full: Fault = {
  problem: 'no space left on the disk',
  hint: 'Free some space; what was being written is tried again.',
  permanent: false,
};
const notFolder: Fault = {
  problem: 'a part of the path is a file, not a folder',
  hint: 'Move that file away, or choose another folder for the store.',
  permanent: true,
};
const noLinks: Fault = {
  problem: 'the file system has no hard links',
  hint: 'Choose a folder on a file system with hard links (ext4, xfs, btrfs, APFS, NFS).',
  permanent: true,
};

const faults: Record<string, Fault> = {
  ENOSPC: full,
  EDQUOT: { ...full, problem: 'the disk quota is used up' },
  EACCES: notWritable,
  EPERM: notWritable,
  EROFS: { ...notWritable, problem: 'the file system is read-only' },
  ENOTDIR: notFolder,
  EEXIST: notFolder,
  EISDIR: { ...notFolder, problem: 'a folder stands where a file should be' },
  ENOTSUP: noLinks,
  EOPNOTSUPP: noLinks,
};

export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Runs file system work on a path of the store; what fails is thrown as StoreError. `doing` reads "cannot <doing> <path>". */
export async function guarded<T>(doing: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RekindleError) throw error;
    const code = errorCode(error);
    const fault = code === undefined ? undefined : faults[code];
    throw new RekindleError('StoreError', `cannot ${doing} ${path}: ${fault?.problem ?? String(error)}`, {
      hint: fault?.hint ?? 'Check the disk that holds the store.',
      permanent: fault?.permanent ?? false,
      cause: error,
    });
  }
}

/** The value, or undefined when the file is not there. */
export async function unlessAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
