/**
 * One stack a home: the file `.rekindle/up.json` says who runs it. It is created with a hard link, which fails when the file
 * exists, so of two that start at once one gets it. A claim whose owner no longer runs is void. Whether a process of another
 * host runs cannot be seen from here, so the claim of another host is never void: it is for people to remove.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { RekindleError } from '../core/errors.ts';
import { stateFolder } from './home.ts';
import { identify, isRunning, processIdentitySchema } from './supervision/process-identity.ts';

const claimSchema = z.strictObject({
  ...processIdentitySchema.shape,
  host: z.string(),
  /** Host and port of the Temporal server; null until it is known. */
  address: z.string().nullable(),
  pools: z.array(z.string()),
  store: z.string(),
  startedAt: z.string(),
});
export type Claim = z.infer<typeof claimSchema>;
export type ClaimDetails = Pick<Claim, 'address' | 'pools' | 'store'>;

export interface HeldHome {
  /** Replaces what the claim tells others. */
  update(details: Partial<ClaimDetails>): void;
  release(): void;
}

/** The live stack of a home on this host; undefined when none runs. */
export function findClaim(home: string): Claim | undefined {
  const claim = readClaim(claimFile(home));
  return claim && claim.host === hostname() && isRunning(claim) ? claim : undefined;
}

/**
 * Claims a home for this process, or returns the live claim of another one (or of this one) as `owner`. Throws
 * RunExistsError when a process of another host has it.
 */
export function claimHome(
  home: string,
  details: ClaimDetails,
): { held: HeldHome; owner?: undefined } | { owner: Claim; held?: undefined } {
  const file = claimFile(home);
  let claim: Claim = {
    ...identify(process.pid)!,
    host: hostname(),
    ...details,
    startedAt: new Date().toISOString(),
  };
  for (;;) {
    if (createExclusively(file, claim)) break;
    const owner = readClaim(file);
    if (owner && owner.host !== hostname()) throw otherHost(file, owner);
    if (owner && isRunning(owner)) return { owner };
    removeVoid(file, owner);
  }
  const held: HeldHome = {
    update(changes) {
      claim = { ...claim, ...changes };
      renameSync(writeBeside(file, claim), file);
    },
    release: () => rmSync(file, { force: true }),
  };
  return { held };
}

function otherHost(file: string, { host, pid, startedAt }: Claim): RekindleError {
  const folder = path.dirname(file);
  return new RekindleError(
    'RunExistsError',
    `${folder} belongs to host ${host}, where pid ${pid} has run a stack in it since ${startedAt}; this host is ${hostname()}`,
    {
      hint:
        'Give each host a --home of its own, in which `runs` is a link to the shared folder. ' +
        `If that stack is gone for good, remove ${file}.`,
    },
  );
}

function claimFile(home: string): string {
  return path.join(stateFolder(home), 'up.json');
}

function readClaim(file: string): Claim | undefined {
  try {
    return claimSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // Claims are written whole: one that cannot be read is not the claim of a running stack.
    return undefined;
  }
}

function writeBeside(file: string, claim: Claim): string {
  const temporary = `${file}.${process.pid}`;
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(temporary, JSON.stringify(claim));
  } catch (error) {
    throw new RekindleError('StoreError', `Cannot write ${file}: ${(error as Error).message}`, {
      hint: 'Choose a home folder that you may write to (--home, or REKINDLE_HOME).',
      cause: error,
    });
  }
  return temporary;
}

function createExclusively(file: string, claim: Claim): boolean {
  const temporary = writeBeside(file, claim);
  try {
    linkSync(temporary, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(temporary);
  }
}

/** Takes a void claim away; if another process replaced it with its own in the meantime, that one is put back. */
function removeVoid(file: string, seen: Claim | undefined): void {
  const aside = `${file}.void.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const taken = readClaim(aside);
  if (taken && JSON.stringify(taken) !== JSON.stringify(seen)) renameSync(aside, file);
  else rmSync(aside);
}
