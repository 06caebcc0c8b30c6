/**
 * The file `.rekindle/processes.json`: what a supervisor has started and who that supervisor is. When a supervisor is
 * killed, its processes stay; the next one finds them here, and can take them over or end them.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { identify, isRunning, processIdentitySchema, type ProcessIdentity } from './process-identity.ts';

const registerSchema = z.strictObject({
  supervisor: processIdentitySchema,
  processes: z.record(z.string(), processIdentitySchema),
});

export class ProcessRegister {
  readonly #file: string;
  readonly #processes = new Map<string, ProcessIdentity>();

  constructor(stateFolder: string) {
    this.#file = fileIn(stateFolder);
  }

  /** Running processes whose supervisor is gone, by name. */
  leftovers(): Map<string, ProcessIdentity> {
    const register = readRegister(this.#file);
    if (register === undefined) return new Map();
    const isOurs = register.supervisor.pid === process.pid;
    if (!isOurs && isRunning(register.supervisor)) return new Map();
    const ours = [...this.#processes.values()].map(({ pid }) => pid);
    const running = Object.entries(register.processes).filter(
      ([name, identity]) => !this.#processes.has(name) && !ours.includes(identity.pid) && isRunning(identity),
    );
    return new Map(running);
  }

  record(name: string, identity: ProcessIdentity): void {
    this.#processes.set(name, identity);
    this.#write();
  }

  /** A process on record gets another name. */
  rename(from: string, to: string): void {
    const identity = this.#processes.get(from);
    if (identity === undefined) return;
    this.#processes.delete(from);
    this.record(to, identity);
  }

  remove(pid: number): void {
    for (const [name, identity] of this.#processes) if (identity.pid === pid) this.#processes.delete(name);
    this.#write();
  }

  #write(): void {
    const supervisor = identify(process.pid)!;
    // Leftovers not yet dealt with stay on record: this supervisor may itself be killed before it gets to them.
    const processes = { ...Object.fromEntries(this.leftovers()), ...Object.fromEntries(this.#processes) };
    mkdirSync(path.dirname(this.#file), { recursive: true });
    const temporary = `${this.#file}.${process.pid}`;
    writeFileSync(temporary, JSON.stringify({ supervisor, processes }));
    renameSync(temporary, this.#file);
  }
}

/** What the supervisor of a stack has on record, by name. */
export function recordedProcesses(stateFolder: string): Map<string, ProcessIdentity> {
  return new Map(Object.entries(readRegister(fileIn(stateFolder))?.processes ?? {}));
}

function fileIn(stateFolder: string): string {
  return path.join(stateFolder, 'processes.json');
}

function readRegister(file: string): z.infer<typeof registerSchema> | undefined {
  try {
    return registerSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // A register that is absent or unreadable knows of no processes.
    return undefined;
  }
}
