/**
 * What the supervisor of a home saw while a run went on, from its journal `<home>/.rekindle/supervisor.jsonl`. The journal is
 * that of this host: processes of other hosts are not in it, and a home without a supervisor has none.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

/** A process that ended though nobody stopped it, and was started again. */
export interface Death {
  process: string;
  /** A signal's name, `exit code 1`, or the reason why it could not be started. */
  how: string;
}

export interface SupervisorHistory {
  /** Names of all processes that it has kept alive. */
  processes: Set<string>;
  deaths: Death[];
}

const eventSchema = z.looseObject({
  at: z.iso.datetime(),
  name: z.string(),
  event: z.enum(['started', 'exited', 'restarting', 'stopped']),
  code: z.number().nullish(),
  signal: z.string().nullish(),
  error: z.string().optional(),
});
type SupervisorEvent = z.infer<typeof eventSchema>;

/** The journal that belongs to a run folder `<home>/runs/<kind>/<run>`. */
export function supervisorJournalOf(runFolder: string): string {
  return path.resolve(runFolder, '..', '..', '..', '.rekindle', 'supervisor.jsonl');
}

/** Deaths from `start` to `end`, ISO 8601; without an end, until now. Lines that cannot be read are passed over. */
export async function readSupervisorHistory(
  journalFile: string,
  { start, end }: { start: string; end: string | null },
): Promise<SupervisorHistory> {
  const text = await readFile(journalFile, 'utf8').catch(() => '');
  const history: SupervisorHistory = { processes: new Set(), deaths: [] };
  const ways = new Map<string, string>();
  for (const event of text.split('\n').flatMap(parseEvent)) {
    history.processes.add(event.name);
    if (event.event === 'exited') ways.set(event.name, wayOfEnding(event));
    const during =
      Date.parse(event.at) >= Date.parse(start) && (end === null || Date.parse(event.at) <= Date.parse(end));
    if (event.event !== 'restarting' || !during) continue;
    history.deaths.push({ process: event.name, how: ways.get(event.name) ?? 'unknown' });
  }
  return history;
}

function parseEvent(line: string): SupervisorEvent[] {
  try {
    return [eventSchema.parse(JSON.parse(line))];
  } catch {
    return [];
  }
}

function wayOfEnding({ error, signal, code }: SupervisorEvent): string {
  return error ?? signal ?? `exit code ${code}`;
}
