/**
 * Notices a process that has work and does none: it uses no processor time and says nothing. A native call that computes for
 * minutes uses time; a process that was stopped, threads that wait for each other and a driver that never answers do not.
 *
 * Looks are counted, not the clock: that of a host which was suspended jumps.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Looks in the time after which a process is taken for hung. */
const LOOKS = 4;

export interface Watched {
  pid: number;
  /** Whether it has work. */
  busy(): boolean;
  /** Messages received from it so far. */
  messages(): number;
}

/** Calls `onHang` once if the process is hung for `seconds`; returns the function that ends the watch. */
export function watchForHang(
  { pid, busy, messages }: Watched,
  seconds: number,
  onHang: () => void,
): () => void {
  let last = '';
  let silent = 0;
  const look = (): void => {
    const time = busy() ? processorTime(pid) : undefined;
    const now = `${time} ${messages()}`;
    silent = time !== undefined && now === last ? silent + 1 : 0;
    last = now;
    if (silent < LOOKS) return;
    clearInterval(timer);
    onHang();
  };
  const timer = setInterval(look, (seconds * 1000) / LOOKS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Processor time that a process has used, in the units of the system; undefined where it cannot be read. */
function processorTime(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux')
      return execFileSync('ps', ['-o', 'time=', '-p', String(pid)], { encoding: 'utf8' });
    // Fields 14 and 15; the second, the program name in parentheses, may hold spaces.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
      .join(' ');
  } catch {
    return undefined;
  }
}
