/** Peak resident memory of processes and their children, and of all of them together, sampled while they run. Linux only. */
import { readdir, readFile } from 'node:fs/promises';

export interface PeakMemory {
  /** Largest resident set of each process, in MB, by name. */
  byProcess: Record<string, number>;
  /** Largest sum at one moment, in MB. */
  together: number;
}

/** Samples every 200 ms until the returned function is called. */
export function watchMemory(processes: () => { name: string; pid: number | undefined }[]): () => PeakMemory {
  const peak: PeakMemory = { byProcess: {}, together: 0 };
  const sample = async () => {
    const parents = await parentsOfAll();
    let together = 0;
    for (const { name, pid } of processes()) {
      if (pid === undefined) continue;
      const own = (await processUsage(pid)).residentMegabytes;
      together += own;
      peak.byProcess[name] = Math.max(peak.byProcess[name] ?? 0, own);
      for (const [child, parent] of parents) {
        if (parent !== pid) continue;
        const childName = `engine of ${name}`;
        const resident = (await processUsage(child)).residentMegabytes;
        together += resident;
        peak.byProcess[childName] = Math.max(peak.byProcess[childName] ?? 0, resident);
      }
    }
    peak.together = Math.max(peak.together, together);
  };
  const timer = setInterval(() => void sample(), 200);
  return () => {
    clearInterval(timer);
    return peak;
  };
}

async function parentsOfAll(): Promise<[pid: number, parent: number][]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(
    pids.map(async (pid): Promise<[number, number]> => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      return [Number(pid), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? -1)];
    }),
  );
}

/** Resident memory and number of threads of a process at this moment; 0 when there is no such process. Linux only. */
export async function processUsage(pid: number): Promise<{ residentMegabytes: number; threads: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const field = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return { residentMegabytes: field('VmRSS') / 1024, threads: field('Threads') };
}
