/**
 * What the supervisor of a home saw while a run went on, from its journal `<home>/.rekindle/supervisor.jsonl`. The journal is
 * that of this host: processes of other hosts are not in it, and a home without a supervisor has none.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { ProcessDeath } from '../../store/process-lives.ts';

const eventSchema = z.looseObject({
  at: z.iso.datetime(),
  name: z.string(),
  event: z.enum(['started', 'exited', 'restarting', 'stopped']),
  code: z.number().nullish(),
  signal: z.string().nullish(),
  error: z.string().optional(),
  pid: z.number().nullish(),
});
type SupervisorEvent = z.infer<typeof eventSchema>;

/** The journal that belongs to a run folder `<home>/runs/<kind>/<run>`. */
export function supervisorJournalOf(runFolder: string): string {
  return path.resolve(runFolder, '..', '..', '..', '.rekindle', 'supervisor.jsonl');
}

/** Deaths from `start` to `end`, ISO 8601; without an end, until now. Lines that cannot be read are passed over. */
export async function readDeaths(
  journalFile: string,
  { start, end }: { start: string; end: string | null },
): Promise<ProcessDeath[]> {
  const text = await readFile(journalFile, 'utf8').catch(() => '');
  const deaths: ProcessDeath[] = [];
  const exits = new Map<string, SupervisorEvent>();
  for (const event of text.split('\n').flatMap(parseEvent)) {
    if (event.event === 'exited') exits.set(event.name, event);
    const exit = exits.get(event.name);
    // One that is started again had ended though the supervisor did not stop it; with code 0, somebody else had told it to.
    if (event.event !== 'restarting' || exit === undefined || exit.code === 0) continue;
    const at = Date.parse(exit.at);
    if (at < Date.parse(start) || (end !== null && at > Date.parse(end))) continue;
    deaths.push({ process: event.name, pid: exit.pid ?? null, at, how: wayOfEnding(exit) });
  }
  return deaths;
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
