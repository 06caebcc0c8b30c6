/**
 * The store: immutable artifacts named by their hash, results memoised by business key, and each run's commit log.
 *
 * Invariants, whatever dies and whoever retries:
 * - An artifact is either absent or complete; its bytes match its hash whenever they are handed out.
 * - A key has at most one result: the first writer wins, and every writer is told the winner.
 * - The log of a run has exactly one entry for each version 0..head, and each names its parent's weights.
 * - What a writing call has returned outlives a power failure, and so does everything that it refers to.
 *
 * Every method throws StoreError when the store cannot be read or written; the message names the place, and
 * `retryable` says whether the same call can succeed later without anybody changing the store.
 */
import type { LogEntry } from '../core/records.ts';
import type { Ref } from '../core/refs.ts';

/** Who made a result and when: for reports, never for decisions. */
export interface Provenance {
  startedAt: string;
  finishedAt: string;
  attempt: number;
  worker: string;
}

export interface Recorded {
  value: unknown;
  provenance: Provenance;
}

/** Who may record what long work leads to: the attempt that claimed it last. */
export interface Claim {
  /** Throws FencedError when another attempt has claimed the same since. */
  requireLast(): Promise<void>;
}

export interface Store {
  /** Where the store is, as a person would name it (a path or URL). */
  readonly location: string;

  /** Throws StoreError unless records and artifacts can be written here with the guarantees above. */
  probe(): Promise<void>;

  /** A folder for files on their way into the store, removed when `use` has ended. */
  withScratch<T>(use: (folder: string) => Promise<T>): Promise<T>;

  putBytes(bytes: Uint8Array, mediaType: string): Promise<Ref>;
  /** Adds a file, which the store takes over: afterwards the path is gone or must not be written to again. */
  putFile(path: string, mediaType: string): Promise<Ref>;
  /** Throws CorruptArtifactError when the bytes do not match the hash, StoreError when they are missing. */
  getBytes(ref: Ref): Promise<Uint8Array>;
  /** A local file with exactly the artifact's bytes, checked once a process. Read only. Throws as `getBytes`. */
  localPath(ref: Ref): Promise<string>;
  /** Reads every byte of an artifact, in little memory. Throws as `getBytes`. */
  check(ref: Ref): Promise<void>;

  findResult(run: string, key: string): Promise<Recorded | undefined>;
  /** Records a result (JSON values only) unless the key has one; returns the result that holds. */
  recordResult(run: string, key: string, recorded: Recorded): Promise<Recorded>;
  /** Keys of a run that start with a prefix, sorted. */
  listResults(run: string, prefix: string): Promise<string[]>;

  /** Claims a key for an attempt; earlier claims of it are void from now on. Several attempts may each have claimed it in turn. */
  claim(run: string, key: string): Promise<Claim>;

  /** The entry with the highest version. */
  head(run: string): Promise<LogEntry | undefined>;
  /** Throws StoreError when what is recorded under a version is not the entry of that run and version. */
  entry(run: string, version: number): Promise<LogEntry | undefined>;
  /**
   * Appends entry n if entry n-1 exists and its weights are `entry.parent`. If version n is already there, that entry is
   * returned and nothing is written. Throws StaleParentError when the parent does not match.
   */
  append(entry: LogEntry): Promise<LogEntry>;
  /** Runs that have a log, sorted. */
  runs(): Promise<string[]>;
}
