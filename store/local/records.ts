/** Results and commit logs on a local disk: one file a record, created whole and never changed. */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import type { LogEntry } from '../../core/records.ts';
import { readLogEntry, readRecorded, writeLogEntry, writeRecorded } from '../record-text.ts';
import type { Recorded, Store } from '../store.ts';
import { createIfAbsent } from './durable-files.ts';
import { guarded, unlessAbsent } from './faults.ts';
import type { Layout } from './layout.ts';

type Results = Pick<Store, 'findResult' | 'recordResult' | 'listResults'>;
type CommitLog = Pick<Store, 'head' | 'entry' | 'append' | 'runs'>;

const extension = '.json';

export function localResults(layout: Layout): Results {
  async function findResult(run: string, key: string): Promise<Recorded | undefined> {
    const path = layout.result(run, key);
    const text = await readRecord(path);
    return text === undefined ? undefined : readRecorded(text, path);
  }

  async function recordResult(run: string, key: string, recorded: Recorded): Promise<Recorded> {
    const path = layout.result(run, key);
    return readRecorded(await createOrRead(path, writeRecorded(recorded, path), layout), path);
  }

  async function listResults(run: string, prefix: string): Promise<string[]> {
    const folder = layout.results(run);
    // A long run has many results: only the folder that the prefix names is read.
    const files = await filesUnder(layout.resultsUnder(run, prefix.slice(0, prefix.lastIndexOf('/') + 1)));
    return files
      .map((path) => relative(folder, path).slice(0, -extension.length).split(sep).join('/'))
      .filter((key) => key.startsWith(prefix))
      .sort();
  }

  return { findResult, recordResult, listResults };
}

export function localCommitLog(layout: Layout): CommitLog {
  async function entry(run: string, version: number): Promise<LogEntry | undefined> {
    const path = layout.logEntry(run, version);
    const text = await readRecord(path);
    return text === undefined ? undefined : readLogEntry(text, run, version, path);
  }

  async function head(run: string): Promise<LogEntry | undefined> {
    const names = await namesIn(layout.runLog(run));
    const last = names.filter((name) => /^\d{8}\.json$/.test(name)).at(-1);
    return last === undefined ? undefined : entry(run, Number(last.slice(0, -extension.length)));
  }

  async function append(proposed: LogEntry): Promise<LogEntry> {
    const { run, version } = proposed;
    const path = layout.logEntry(run, version);
    const text = writeLogEntry(proposed, path);
    const present = await entry(run, version);
    if (present === undefined) requireParent(proposed, version === 0 ? null : await entry(run, version - 1));
    return readLogEntry(await createOrRead(path, text, layout), run, version, path);
  }

  async function runs(): Promise<string[]> {
    const found = [];
    for (const name of await namesIn(layout.log)) {
      const names = await namesIn(join(layout.log, name));
      if (names.length > 0) found.push(name);
    }
    return found;
  }

  return { head, entry, append, runs };
}

/** Creates a record; returns the text that now stands under its name, whoever wrote it. */
async function createOrRead(path: string, text: string, layout: Layout): Promise<string> {
  const created = await guarded('write record', path, () => createIfAbsent(path, text, layout.temporary));
  if (created) return text;
  const winner = await readRecord(path);
  if (winner !== undefined) return winner;
  throw new RekindleError('StoreError', `${path}: the record vanished while it was read`, {
    hint: 'Records are never removed while a run goes on; find out what deleted it.',
  });
}

function readRecord(path: string): Promise<string | undefined> {
  return guarded('read record', path, () => unlessAbsent(readFile(path, 'utf8')));
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await guarded('list', folder, () => unlessAbsent(readdir(folder)));
  return (names ?? []).sort();
}

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await guarded('list', folder, () =>
    unlessAbsent(readdir(folder, { recursive: true, withFileTypes: true })),
  );
  return (entries ?? [])
    .filter((item) => item.isFile() && item.name.endsWith(extension))
    .map((item) => join(item.parentPath, item.name));
}

function requireParent(proposed: LogEntry, previous: LogEntry | null | undefined): void {
  const expected = previous === undefined ? undefined : (previous?.weights.hash ?? null);
  if (expected === proposed.parent) return;
  const found =
    expected === undefined ? `version ${proposed.version - 1} is not committed` : `expected ${expected}`;
  throw new RekindleError(
    'StaleParentError',
    `run ${proposed.run}, version ${proposed.version}: parent is ${proposed.parent}, ${found}`,
    {
      hint: 'The update started from another policy than the one committed; roll out and train again from the head.',
    },
  );
}
