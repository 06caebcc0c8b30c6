/** The journals of all processes of a run, merged. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RekindleError } from '../core/errors.ts';
import { journalLineSchema, type JournalLine } from './journal-events.ts';

export interface JournalContents {
  /** Lines of all processes, in the order in which each was written; processes in the order of their file names. */
  lines: JournalLine[];
  /** Lines that a crash or a full disk tore, or that are no journal's. */
  unreadable: number;
}

/** Reads every `*.jsonl` in a run's log folder; nothing when there is no folder. Throws StoreError. */
export async function readJournals(logsFolder: string): Promise<JournalContents> {
  const contents: JournalContents = { lines: [], unreadable: 0 };
  for (const name of await journalNames(logsFolder)) {
    const text = await readFile(join(logsFolder, name), 'utf8').catch((error: unknown) => {
      throw new RekindleError('StoreError', `cannot read ${join(logsFolder, name)}: ${String(error)}`, {
        cause: error,
      });
    });
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const parsed = parseLine(line);
      if (parsed === undefined) contents.unreadable += 1;
      else contents.lines.push(parsed);
    }
  }
  return contents;
}

async function journalNames(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw new RekindleError('StoreError', `cannot list ${folder}: ${String(error)}`, { cause: error });
  });
  return names.filter((name) => name.endsWith('.jsonl')).sort();
}

function parseLine(line: string): JournalLine | undefined {
  try {
    return journalLineSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
