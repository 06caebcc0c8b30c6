/**
 * The journal of a process: `<logs>/<process>.jsonl`, one line an event, only ever appended to. It tells how a run went and
 * decides nothing, so a line that cannot be written is counted and the work goes on.
 *
 * Lines are handed to the operating system at once, so a killed process loses none that it wrote before; each session starts
 * on a new line, so a line torn by a crash or a full disk spoils no other.
 */
import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { journalLineSchema, type JournalEventInput, type JournalLine } from './journal-events.ts';
import { livesOf } from './process-lives.ts';

export interface Journal {
  write(event: JournalEventInput): void;
  /** Resolves when everything written so far was handed over. Never rejects. */
  flush(): Promise<void>;
  /** Events that could not be written. */
  lost(): number;
}

/**
 * Opens the journal of this process in a folder, which is made if need be; notes that the process started, and which earlier
 * ones of its name ended without a word.
 */
export function openJournal(logsFolder: string, processName: string): Journal {
  const path = join(logsFolder, `${processName}.jsonl`);
  const session = randomUUID();
  let waiting: string[] = [];
  let writing: Promise<void> | undefined;
  let lost = 0;
  let onNewLine = false;

  function write(event: JournalEventInput): void {
    waiting.push(lineOf(event));
    writing ??= drain();
  }

  function lineOf(event: JournalEventInput): string {
    return `${JSON.stringify({ process: processName, session, pid: process.pid, event })}\n`;
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      try {
        await append(lines.join(''));
      } catch {
        lost += lines.length;
      }
    }
    writing = undefined;
  }

  async function append(text: string): Promise<void> {
    const wasOnNewLine = onNewLine;
    onNewLine = false;
    await mkdir(logsFolder, { recursive: true });
    await appendFile(path, wasOnNewLine ? text : `\n${text}`);
    onNewLine = true;
  }

  async function begin(): Promise<void> {
    const gone = await sessionsThatAreGone(path);
    const at = new Date().toISOString();
    const opening: JournalEventInput[] = [
      { event: 'process-started', at },
      ...gone.map((session) => ({ event: 'process-lost', at, session }) as const),
    ];
    waiting.unshift(...opening.map(lineOf));
    await drain();
  }

  writing = begin();
  return { write, flush: () => writing ?? Promise.resolve(), lost: () => lost };
}

/** A name belongs to one host, so whether a process of that name still runs can be asked there. */
async function sessionsThatAreGone(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.split('\n').flatMap(parseBounds);
  return [...livesOf(lines).values()]
    .filter(({ ended, pid }) => ended === null && (pid === process.pid || !isAlive(pid)))
    .map(({ session }) => session);
}

/** The lines that say where a session begins and ends; the many others are not parsed. */
function parseBounds(line: string): JournalLine[] {
  if (!line.includes('"event":"process-')) return [];
  try {
    return [journalLineSchema.parse(JSON.parse(line))];
  } catch {
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
