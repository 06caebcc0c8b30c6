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
    this.#file = path.join(stateFolder, 'processes.json');
  }

  /** Running processes whose supervisor is gone, by name. */
  leftovers(): Map<string, ProcessIdentity> {
    const register = this.#read();
    if (register === undefined) return new Map();
    const isOurs = register.supervisor.pid === process.pid;
    if (!isOurs && isRunning(register.supervisor)) return new Map();
    const running = Object.entries(register.processes).filter(
      ([name, identity]) => !this.#processes.has(name) && isRunning(identity),
    );
    return new Map(running);
  }

  record(name: string, identity: ProcessIdentity): void {
    this.#processes.set(name, identity);
    this.#write();
  }

  remove(name: string): void {
    this.#processes.delete(name);
    this.#write();
  }

  #read(): z.infer<typeof registerSchema> | undefined {
    try {
      return registerSchema.parse(JSON.parse(readFileSync(this.#file, 'utf8')));
    } catch {
      // A register that is absent or unreadable knows of no leftovers.
      return undefined;
    }
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
