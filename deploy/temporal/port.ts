/** Whether a TCP port of this machine is free, and who has it otherwise. */
import { createServer } from 'node:net';
import { RekindleError } from '../../core/errors.ts';
import { runCommand } from './source.ts';

/** Throws PortError, with the program that has the port where that can be known, unless `host:port` can be bound. */
export async function requireFreePort(host: string, port: number, purpose: string): Promise<void> {
  const problem = await bindProblem(host, port);
  if (problem === undefined) return;
  const owner = problem === 'EADDRINUSE' ? ((await portOwner(port)) ?? 'another program') : problem;
  throw new RekindleError('PortError', `Port ${port} on ${host}, wanted for ${purpose}, is taken: ${owner}`, {
    hint: `End that program, or set REKINDLE_TEMPORAL_PORT to a free port (the Web UI takes the one 1000 higher).`,
  });
}

/** The code of the error that binding a port gives; undefined when it is free. */
export function bindProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** Program and pid that listen on a port, as far as `ss` or `lsof` tell. */
async function portOwner(port: number): Promise<string | undefined> {
  const options = { env: process.env, timeoutMs: 5_000 };
  const ss = await runCommand('ss', ['-Hltnp', `sport = :${port}`], options);
  const match = 'output' in ss ? /\("([^"]+)",pid=(\d+)/.exec(ss.output) : null;
  if (match) return `${match[1]!} (pid ${match[2]!})`;
  const lsof = await runCommand('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc'], options);
  const fields = 'output' in lsof ? /^p(\d+)\nc(.+)$/m.exec(lsof.output) : null;
  return fields ? `${fields[2]!} (pid ${fields[1]!})` : undefined;
}
