/** Where a Temporal server can come from, and whether its ports are free. */
import { findClaim } from '../../deploy/home-claim.ts';
import { bindProblem } from '../../deploy/temporal/port.ts';
import { localSources, sourceContext } from '../../deploy/temporal/provision.ts';
import { runCommand } from '../../deploy/temporal/source.ts';
import { broken, info, ok, type Finding } from './check.ts';

const waysOut =
  'Install the Temporal CLI, or Python or Go so that it can be had, or use --address host:port.';

/** Looks, and downloads nothing. */
export async function checkTemporalProgram(): Promise<Finding> {
  const name = 'Temporal CLI';
  const context = sourceContext(() => undefined);
  for (const source of localSources) {
    const found = await source.find(context);
    if ('program' in found) return ok(name, `${found.program.cliVersion} at ${found.program.path}`);
  }
  for (const [command, args] of [
    ['python3', ['-m', 'pip', '--version']],
    ['uv', ['--version']],
    ['go', ['version']],
  ] as const) {
    const ran = await runCommand(command, args, { env: process.env, timeoutMs: 10_000 });
    if ('output' in ran)
      return ok(name, `not here yet; the first start gets it (at the latest with ${command})`);
  }
  return broken(
    name,
    'not here, and neither Python nor Go to get it with, should the download fail',
    waysOut,
  );
}

export async function checkPorts(home: string, port: number): Promise<Finding> {
  const name = `ports ${port}, ${port + 1000}`;
  const claim = findClaim(home);
  if (claim) return info(name, `in use by this folder's own stack (pid ${claim.pid})`);
  const taken: number[] = [];
  for (const one of [port, port + 1000]) if (await bindProblem('127.0.0.1', one)) taken.push(one);
  if (taken.length === 0) return ok(name, 'free');
  return broken(
    name,
    `${taken.join(' and ')} taken by another program`,
    'End it, set REKINDLE_TEMPORAL_PORT to another port, or use that server with --address if it is Temporal.',
  );
}
