/** What faults cost a run: counts and sums over its journals, in `meta.json`, metrics and reports. */
import { z } from 'zod';

/** Each kind with what it means, for a reader who does not know the machinery. */
export const faultKinds = {
  'worker-killed': 'a worker process ended without a word; its work was given to another',
  'engine-killed': 'an engine process ended; another was started with the same weights',
  'engine-hung':
    'an engine process showed no progress and was killed; another was started with the same weights',
  'heartbeat-timeout': 'a worker that lived sent no heartbeat in time; its work was given to another',
  'server-away': 'the Temporal server did not answer; workers waited and went on',
  'store-error': 'the store could not be read or written; the attempt was repeated',
  'environment-error': 'an environment failed; the step was repeated',
  'activity-error': 'an attempt ended with another error',
  'hand-back': 'a worker that was told to stop gave its work back',
} as const;
export type FaultKind = keyof typeof faultKinds;

const amount = z.number().nonnegative();
const counts = z.record(z.string(), z.number().int().nonnegative());

export const faultTotalsSchema = z.strictObject({
  faults: counts.describe('Faults by kind; kinds that did not occur are missing'),
  lostTokens: z
    .number()
    .int()
    .nonnegative()
    .describe('Tokens sampled and recorded nowhere, so sampled again'),
  lostTrajectorySeconds: amount.describe('Time spent on sampling them, summed over trajectories'),
  lostUpdateSeconds: amount.describe('Time of updates that were cut off'),
  recoverySeconds: z
    .array(amount)
    .describe('From each fault that cut off sampling to the first new token of what it cut off'),
  retries: counts.describe('Attempts after the first, by activity'),
});
export type FaultTotals = z.infer<typeof faultTotalsSchema>;
