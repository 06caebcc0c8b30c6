/**
 * The audit of a run, from its store alone. It believes nothing that it can check: every artifact is read and hashed, every
 * scheduled task is looked for in the committed trajectories, every update is compared with the candidate that was recorded.
 * Damage never stops it; each finding is a sentence in `problems`.
 */
import { z } from 'zod';
import { auditArtifacts } from './verify-artifacts.ts';
import { auditLog } from './verify-log.ts';
import { originProblems } from './verify-origin.ts';
import { auditTasks } from './verify-tasks.ts';
import type { Store } from './store.ts';

const count = z.number().int().nonnegative();

export const verificationSchema = z.strictObject({
  ok: z.boolean(),
  run: z.string(),
  /** Entries of the commit log, version 0 included. */
  policyVersions: count,
  tasks: z.strictObject({
    scheduled: count.describe('Tasks of all batches that were recorded'),
    committed: count.describe('Tasks whose episodes stand in exactly one committed iteration'),
    skipped: count.describe(
      'Tasks that were passed over: before the last committed one, yet in no iteration',
    ),
    duplicated: count.describe('Tasks that stand in more than one committed iteration, or twice in one'),
  }),
  doubleSteps: count.describe('Entries whose weights are not those of exactly one recorded optimizer update'),
  artifacts: z.strictObject({ checked: count, missing: count, corrupt: count }),
  problems: z.array(z.string()),
});
export type Verification = z.infer<typeof verificationSchema>;

export interface VerifyOptions {
  /** The run is over: a batch that was scheduled and not committed counts as skipped. Otherwise it may be in progress. */
  finished?: boolean;
}

/** Audits one run. A run that the store does not know is reported as a problem. */
export async function verifyRun(
  store: Store,
  run: string,
  options: VerifyOptions = {},
): Promise<Verification> {
  const log = await auditLog(store, run);
  const tasks = await auditTasks(store, run, log.entries, options.finished ?? false);
  const artifacts = await auditArtifacts(store, run, log.entries);
  const origin = await originProblems(store, run, log.entries[0]);
  const problems = [...log.problems, ...origin, ...tasks.problems, ...artifacts.problems];
  const { checked, missing, corrupt } = artifacts;
  return {
    ok: problems.length === 0,
    run,
    policyVersions: log.entries.length,
    tasks: tasks.counts,
    doubleSteps: log.doubleSteps,
    artifacts: { checked, missing, corrupt },
    problems,
  };
}
