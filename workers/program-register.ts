/**
 * The folder `.rekindle/environments`: a file for each running program of an environment, with its labels, the process that it is
 * and the worker that it belongs to. A worker that is killed leaves its programs behind; whichever worker looks here next ends
 * them. A pid alone is never enough: a process is ended only if it was born when the file says.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ProgramLabels, ProgramRegister } from '../activities/environment/command/program.ts';
import {
  identify,
  isRunning,
  processIdentitySchema,
  signalProcess,
} from '../deploy/supervision/process-identity.ts';

const entrySchema = z.strictObject({
  run: z.string(),
  episode: z.string(),
  program: processIdentitySchema,
  worker: processIdentitySchema,
});
export type ProgramEntry = z.infer<typeof entrySchema>;

export class ProgramFolder implements ProgramRegister {
  readonly #folder: string;

  constructor(stateFolder: string) {
    this.#folder = join(stateFolder, 'environments');
  }

  add(pid: number, labels: ProgramLabels): void {
    const program = identify(pid);
    if (program === undefined) return; // has ended already
    mkdirSync(this.#folder, { recursive: true });
    const entry: ProgramEntry = { ...labels, program, worker: identify(process.pid)! };
    const temporary = join(this.#folder, `${pid}.new`);
    writeFileSync(temporary, JSON.stringify(entry));
    renameSync(temporary, this.#file(pid)); // a sweep sees it whole or not at all
  }

  remove(pid: number): void {
    rmSync(this.#file(pid), { force: true });
  }

  /** Programs that are written down, whether or not they still run. */
  entries(): ProgramEntry[] {
    return this.#files().flatMap((file) => {
      const entry = read(file);
      return entry === undefined ? [] : [entry];
    });
  }

  /** Ends the programs, each with its process group, whose worker runs no more. */
  reap(): void {
    for (const file of this.#files()) {
      const entry = read(file);
      if (entry !== undefined && isRunning(entry.worker)) continue;
      if (entry !== undefined && isOurs(entry)) signalProcess(entry.program.pid, 'SIGKILL', 'group');
      rmSync(file, { force: true });
    }
  }

  #file(pid: number): string {
    return join(this.#folder, `${pid}.json`);
  }

  #files(): string[] {
    try {
      const names = readdirSync(this.#folder).filter((name) => name.endsWith('.json'));
      return names.map((name) => join(this.#folder, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }
}

/** The program runs; or it has ended, and then its group, if there still is one, cannot be another's: a pid is not given again before. */
function isOurs({ program }: ProgramEntry): boolean {
  const occupant = identify(program.pid);
  return occupant === undefined || occupant.born === program.born;
}

/** Undefined for a file that is gone or is not an entry. */
function read(file: string): ProgramEntry | undefined {
  try {
    return entrySchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}
