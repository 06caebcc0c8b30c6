/** The programs of environments in a worker: kept between turns, swept when their worker is dead or their run is over. */
import { LivePrograms } from '../activities/environment/command/live-programs.ts';
import { stateFolder } from '../deploy/home.ts';
import { readMeta, runFolder } from '../store/run-folder.ts';
import { ProgramFolder } from './program-register.ts';

const sweepEvery = 30_000;

export interface EnvironmentPrograms {
  programs: LivePrograms;
  /** Ends all of them. */
  close(): Promise<void>;
}

/** Sweeps at once and from then on regularly. */
export function openEnvironmentPrograms(home: string, runsFolder: string): EnvironmentPrograms {
  const register = new ProgramFolder(stateFolder(home));
  const programs = new LivePrograms(register);
  const sweep = async (): Promise<void> => {
    register.reap();
    for (const run of programs.runs()) if (await isOver(runsFolder, run)) programs.stopRun(run);
  };
  const sweepOrReport = (): void => {
    sweep().catch((error: unknown) => process.stderr.write(`environments not swept: ${String(error)}\n`));
  };
  sweepOrReport();
  const timer = setInterval(sweepOrReport, sweepEvery);
  timer.unref();
  return {
    programs,
    close() {
      clearInterval(timer);
      return programs.close();
    },
  };
}

async function isOver(runsFolder: string, run: string): Promise<boolean> {
  const meta = await readMeta(runFolder(runsFolder, 'training', run));
  return meta !== undefined && meta.status !== 'running';
}
