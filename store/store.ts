/**
 * The store: immutable artifacts named by their hash, results memoised by business key, and each run's commit log.
 *
 * Invariants, whatever dies and whoever retries:
 * - An artifact is either absent or complete; its bytes match its hash whenever they are handed out.
 * - A key has at most one result: the first writer wins, and every writer is told the winner.
 * - The log of a run has exactly one entry for each version 0..head, and each names its parent's weights.
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

export interface Store {
  /** Where the store is, as a person would name it (a path or URL). */
  readonly location: string;

  putBytes(bytes: Uint8Array, mediaType: string): Promise<Ref>;
  /** Adds a file; the file may be moved into the store. */
  putFile(path: string, mediaType: string): Promise<Ref>;
  /** Throws CorruptArtifactError when the bytes do not match the hash, StoreError when they are missing. */
  getBytes(ref: Ref): Promise<Uint8Array>;
  /** A local file with exactly the artifact's bytes, checked once a process. Read only. */
  localPath(ref: Ref): Promise<string>;

  findResult(run: string, key: string): Promise<Recorded | undefined>;
  /** Records a result unless the key has one; returns the result that holds. */
  recordResult(run: string, key: string, recorded: Recorded): Promise<Recorded>;
  /** Keys of a run that start with a prefix, sorted. */
  listResults(run: string, prefix: string): Promise<string[]>;

  head(run: string): Promise<LogEntry | undefined>;
  entry(run: string, version: number): Promise<LogEntry | undefined>;
  /**
   * Appends entry n if entry n-1 exists and its weights are `entry.parent`. If version n is already there, that entry is
   * returned and nothing is written. Throws StaleParentError when the parent does not match.
   */
  append(entry: LogEntry): Promise<LogEntry>;
  /** Runs that have a log, sorted. */
  runs(): Promise<string[]>;
}
