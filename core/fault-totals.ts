/** What faults cost a run: counts and sums over its journals, in `meta.json`, metrics and reports. */
import { z } from 'zod';

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

/** The names of core/metric-names.ts; no recovery where nothing had to recover. */
export function faultMetrics(totals: FaultTotals): Record<string, number> {
  const sum = (counts: Record<string, number>): number =>
    Object.values(counts).reduce((total, count) => total + count, 0);
  const kinds = Object.entries(totals.faults).map(([kind, count]) => [`faults/${kind}`, count]);
  const recoveries = totals.recoverySeconds.toSorted((a, b) => a - b);
  return {
    'faults/count': sum(totals.faults),
    ...(Object.fromEntries(kinds) as Record<string, number>),
    'faults/retries': sum(totals.retries),
    'lost/tokens': totals.lostTokens,
    'lost/trajectory_seconds': totals.lostTrajectorySeconds,
    'lost/update_seconds': totals.lostUpdateSeconds,
    ...(recoveries.length === 0
      ? {}
      : {
          'recovery/median_seconds': recoveries[Math.floor((recoveries.length - 1) / 2)]!,
          'recovery/max_seconds': recoveries.at(-1)!,
        }),
  };
}
