/** What the store remembers of an environment's reply. */
import { z } from 'zod';
import { outcomes } from '../../core/records.ts';

export const verdictSchema = z.strictObject({
  outcome: z.enum(outcomes),
  reason: z.string().optional(),
  rewards: z.record(z.string(), z.number()),
  reward: z.number(),
});

export const environmentReplySchema = z.union([
  z.strictObject({ observation: z.string() }),
  z.strictObject({ verdict: verdictSchema }),
]);
/** Either the episode goes on, with text put before the next model call, or it is over, with a verdict. */
export type EnvironmentReply = z.infer<typeof environmentReplySchema>;
export type Verdict = z.infer<typeof verdictSchema>;
