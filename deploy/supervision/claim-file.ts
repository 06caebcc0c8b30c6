/**
 * A file that says which process has something to itself. It is created with a hard link, which fails when the file exists, so of
 * two that want it at once one gets it. The claim of a process that runs no more is void.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';
import { RekindleError } from '../../core/errors.ts';
import { isRunning, type ProcessIdentity } from './process-identity.ts';

export class ClaimFile<C extends ProcessIdentity> {
  readonly path: string;
  readonly #schema: z.ZodType<C>;
  /** What to do when the file cannot be written. */
  readonly #hint: string;

  constructor(file: string, schema: z.ZodType<C>, hint: string) {
    this.path = file;
    this.#schema = schema;
    this.#hint = hint;
  }

  /** The claim, void or not; undefined when there is none. */
  read(): C | undefined {
    return this.#readFrom(this.path);
  }

  /**
   * Makes the claim unless there is one that holds, which is then returned. `holds` may throw.
   * @throws RekindleError StoreError when the file cannot be written
   */
  take(claim: C, holds: (owner: C) => boolean = isRunning): C | undefined {
    for (;;) {
      if (this.#create(claim)) return undefined;
      const owner = this.read();
      if (owner && holds(owner)) return owner;
      this.#removeVoid(owner);
    }
  }

  /** Replaces a claim that is ours. */
  replace(claim: C): void {
    renameSync(this.#writeBeside(claim), this.path);
  }

  /** Gives up a claim that is ours. */
  release(): void {
    rmSync(this.path, { force: true });
  }

  #writeBeside(claim: C): string {
    const temporary = `${this.path}.${process.pid}`;
    try {
      mkdirSync(path.dirname(this.path), { recursive: true });
      writeFileSync(temporary, JSON.stringify(claim));
    } catch (error) {
      throw new RekindleError('StoreError', `Cannot write ${this.path}: ${(error as Error).message}`, {
        hint: this.#hint,
        cause: error,
      });
    }
    return temporary;
  }

  #create(claim: C): boolean {
    const temporary = this.#writeBeside(claim);
    try {
      linkSync(temporary, this.path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      rmSync(temporary);
    }
  }

  /** Takes a void claim away; if another process replaced it with its own in the meantime, that one is put back. */
  #removeVoid(seen: C | undefined): void {
    const aside = `${this.path}.void.${process.pid}`;
    try {
      renameSync(this.path, aside);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    const taken = this.#readFrom(aside);
    if (taken && JSON.stringify(taken) !== JSON.stringify(seen)) renameSync(aside, this.path);
    else rmSync(aside);
  }

  #readFrom(file: string): C | undefined {
    try {
      return this.#schema.parse(JSON.parse(readFileSync(file, 'utf8')));
    } catch {
      // Claims are written whole: one that cannot be read is not that of a running process.
      return undefined;
    }
  }
}
