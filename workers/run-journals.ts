/** The journals of this process, one in the log folder of each run that it works for. */
import { hostname } from 'node:os';
import { openJournal, type Journal } from '../store/journal.ts';
import type { JournalEventInput } from '../store/journal-events.ts';
import { runFolder } from '../store/run-folder.ts';

export class RunJournals {
  readonly #runsFolder: string;
  readonly #processName: string;
  readonly #journals = new Map<string, Journal>();

  constructor(runsFolder: string, poolNames: string) {
    this.#runsFolder = runsFolder;
    this.#processName = `${poolNames}@${hostname()}`;
  }

  write(run: string, event: JournalEventInput): void {
    let journal = this.#journals.get(run);
    if (journal === undefined) {
      journal = openJournal(runFolder(this.#runsFolder, 'training', run).logs, this.#processName);
      this.#journals.set(run, journal);
    }
    journal.write(event);
  }

  /** The runs that this process has worked for. */
  get runs(): string[] {
    return [...this.#journals.keys()];
  }

  /** Notes that the process ends because it was told to, and hands over what was written. */
  async close(): Promise<void> {
    for (const journal of this.#journals.values()) {
      journal.write({ event: 'process-ended', at: new Date().toISOString() });
    }
    await this.flush();
  }

  async flush(): Promise<void> {
    await Promise.all([...this.#journals.values()].map((journal) => journal.flush()));
  }
}
