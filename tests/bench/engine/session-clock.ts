/** Watches the native calls of every session in this process. */
import { Session } from '../../../gpu/embedded/session.ts';

export interface NativeRun {
  /** Milliseconds, as performance.now() counts. */
  began: number;
  ended: number;
}

/** Runs `work` and returns the session runs that it made, in order. */
export async function nativeRuns(work: () => Promise<void>): Promise<NativeRun[]> {
  const runs: NativeRun[] = [];
  const run = Session.prototype.run;
  Session.prototype.run = function (feeds, fetches) {
    const began = performance.now();
    run.call(this, feeds, fetches);
    runs.push({ began, ended: performance.now() });
  };
  try {
    await work();
  } finally {
    Session.prototype.run = run;
  }
  return runs;
}
