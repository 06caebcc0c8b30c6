/**
 * A source of the Temporal CLI: a place where a copy may be found or had from. It answers with a checked program, or with
 * the reason why the next source must be tried.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { isAtLeast, oldestServer, parseVersions } from './versions.ts';

export interface TemporalProgram {
  path: string;
  cliVersion: string;
  serverVersion: string;
  /** Where it came from, for logs. */
  source: string;
}

export type Found = { program: TemporalProgram } | { reason: string };

export interface SourceContext {
  env: NodeJS.ProcessEnv;
  /** Operating system and processor as Node names them, such as `linux-x64`. */
  platform: string;
  /** Programs are kept in `<cacheFolder>/<version>/temporal`. */
  cacheFolder: string;
  /** Tells the user about a step that takes time. */
  say: (line: string) => void;
}

export interface Source {
  name: string;
  find(context: SourceContext): Promise<Found>;
}

const execFileAsync = promisify(execFile);

/** Runs a command to its end; its output is the reason when it fails. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: { env: NodeJS.ProcessEnv; timeoutMs: number },
): Promise<{ output: string } | { reason: string }> {
  try {
    const { stdout } = await execFileAsync(command, args, { env: options.env, timeout: options.timeoutMs });
    return { output: stdout };
  } catch (error) {
    const { code, killed, stderr } = error as { code?: string | number; killed?: boolean; stderr?: string };
    if (code === 'ENOENT') return { reason: `${command} is not installed` };
    if (killed) return { reason: `${command} took longer than ${options.timeoutMs / 1000} s` };
    const lastLine = stderr?.trim().split('\n').at(-1);
    return { reason: `${command} failed: ${lastLine || `exit code ${code}`}` };
  }
}

/** Asks a program for its version; refuses what is not the Temporal CLI, or too old. */
export async function checkProgram(path: string, source: string, env: NodeJS.ProcessEnv): Promise<Found> {
  const ran = await runCommand(path, ['--version'], { env, timeoutMs: 20_000 });
  if ('reason' in ran) return ran;
  const versions = parseVersions(ran.output);
  if (!versions) return { reason: `${path} --version did not answer as the Temporal CLI does` };
  if (!isAtLeast(versions.server, oldestServer)) {
    return {
      reason: `${path} is CLI ${versions.cli} with server ${versions.server}; CLI 1.5 (server ${oldestServer}) or newer is needed`,
    };
  }
  return { program: { path, cliVersion: versions.cli, serverVersion: versions.server, source } };
}
