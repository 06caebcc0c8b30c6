/**
 * Tells whether a process recorded earlier still runs. A pid alone does not: the system gives it to another process once
 * it is free. A pid together with the time the process was born does.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { z } from 'zod';

export const processIdentitySchema = z.strictObject({ pid: z.number().int().positive(), born: z.string() });
export type ProcessIdentity = z.infer<typeof processIdentitySchema>;

/** The identity of a running process; undefined when there is none with that pid or it has ended (a zombie). */
export function identify(pid: number): ProcessIdentity | undefined {
  const born = process.platform === 'linux' ? birthFromProc(pid) : birthFromPs(pid);
  return born === undefined ? undefined : { pid, born };
}

export function isRunning(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.born === identity.born;
}

/** Sends a signal to a process, or to the whole process group that it leads. Does nothing when it is gone. */
export function signalProcess(pid: number, signal: NodeJS.Signals, scope: 'process' | 'group'): void {
  try {
    process.kill(scope === 'group' ? -pid : pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function birthFromProc(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field, the program name in parentheses, may hold spaces; the state is field 3, the start time field 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? undefined : fields[19];
}

function birthFromPs(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return line.startsWith('Z') ? undefined : line.slice(line.indexOf(' ')).trim();
  } catch {
    return undefined;
  }
}
