/**
 * The journal of a process: `<logs>/<process>.jsonl`, one line an event, only ever appended to. It tells how a run went and
 * decides nothing, so a line that cannot be written is counted and the work goes on.
 *
 * Lines are handed to the operating system at once, so a killed process loses none that it wrote before; each session starts
 * on a new line, so a line torn by a crash or a full disk spoils no other.
 */
import { randomUUID } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JournalEventInput } from './journal-events.ts';

export interface Journal {
  write(event: JournalEventInput): void;
  /** Resolves when everything written so far was handed over. Never rejects. */
  flush(): Promise<void>;
  /** Events that could not be written. */
  lost(): number;
}

/** Opens the journal of this process in a folder, which is made if need be, and notes that the process started. */
export function openJournal(logsFolder: string, processName: string): Journal {
  const path = join(logsFolder, `${processName}.jsonl`);
  const session = randomUUID();
  let waiting: string[] = [];
  let writing: Promise<void> | undefined;
  let lost = 0;
  let onNewLine = false;

  function write(event: JournalEventInput): void {
    waiting.push(`${JSON.stringify({ process: processName, session, pid: process.pid, event })}\n`);
    writing ??= drain();
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

  write({ event: 'process-started', at: new Date().toISOString() });
  return { write, flush: () => writing ?? Promise.resolve(), lost: () => lost };
}
