/**
 * One stack a home: the file `.rekindle/up.json` says who runs it. Whether a process of another host runs cannot be seen from here,
 * so the claim of another host is never void: it is for people to remove.
 */
import { hostname } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { RekindleError } from '../core/errors.ts';
import { stateFolder } from './home.ts';
import { ClaimFile } from './supervision/claim-file.ts';
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
  const claim = claimFile(home).read();
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
  const owner = file.take(claim, (found) => {
    if (found.host !== hostname()) throw otherHost(file.path, found);
    return isRunning(found);
  });
  if (owner !== undefined) return { owner };
  const held: HeldHome = {
    update(changes) {
      claim = { ...claim, ...changes };
      file.replace(claim);
    },
    release: () => file.release(),
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

function claimFile(home: string): ClaimFile<Claim> {
  return new ClaimFile(
    path.join(stateFolder(home), 'up.json'),
    claimSchema,
    'Choose a home folder that you may write to (--home, or REKINDLE_HOME).',
  );
}
