/** The command line of a worker process. */
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { pools, type Pool } from '../core/ids.ts';
import { RekindleError } from '../core/errors.ts';
import { temporalProfile } from '../deploy/temporal/connection-options.ts';

export interface WorkerOptions {
  pools: Pool[];
  address: string;
  namespace: string;
  /** Runs, store and state of this installation. */
  home: string;
  /** Tells this worker's queues from those of the same pool elsewhere: the host's name, or that of one of its devices. */
  host: string;
}

const poolSchema = z.enum(pools as [Pool, ...Pool[]]);

/** Parses `--pools control,cpu --address host:port --namespace default --home folder --host name`. Throws UsageError. */
export function parseWorkerOptions(args: string[]): WorkerOptions {
  const profile = temporalProfile(process.env);
  const { values } = parseArgs({
    args,
    options: {
      pools: { type: 'string', default: pools.join(',') },
      address: { type: 'string', default: profile.address ?? '127.0.0.1:7233' },
      namespace: { type: 'string', default: profile.namespace ?? 'default' },
      home: { type: 'string', default: process.env['REKINDLE_HOME'] ?? '.' },
      host: { type: 'string', default: hostname() },
    },
  });
  const parsed = z.array(poolSchema).min(1).safeParse(values.pools.split(','));
  if (!parsed.success) {
    throw new RekindleError(
      'UsageError',
      `--pools: ${JSON.stringify(values.pools)}: expected a list of ${pools.join(', ')}`,
    );
  }
  return {
    pools: [...new Set(parsed.data)],
    address: values.address,
    namespace: values.namespace,
    home: resolve(values.home),
    host: values.host,
  };
}

export function runsFolderOf(home: string): string {
  return join(home, 'runs');
}

export function storeFolderOf(home: string): string {
  return join(home, 'runs', '.store');
}
