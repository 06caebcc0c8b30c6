/** What a process writes into its journal. Times are ISO 8601, UTC. */
import { z } from 'zod';
import { pools, type Pool } from '../core/ids.ts';

const moment = z.iso.datetime();
const count = z.number().int().nonnegative();

/** One attempt of an activity; the same fields stand in all lines that speak of it. */
const attemptFields = {
  activity: z.string(),
  /** The same for every attempt at the same input, whoever scheduled it; null where the writer does not know it. */
  task: z.string().nullable().default(null),
  iteration: count.nullable().default(null),
  attempt: z.number().int().positive(),
  pool: z.enum(pools as [Pool, ...Pool[]]),
  startedAt: moment,
};

/** What an attempt has sampled so far, and how much of it is recorded nowhere: lost if the attempt ended now. */
export const generatedSchema = z.strictObject({
  tokens: count,
  unsavedTokens: count,
  /** Sum over unsaved samples of the time from its first token to its last, or until now. */
  unsavedTrajectorySeconds: z.number().nonnegative(),
  /** Samples under way: each adds to the seconds as time passes. */
  underWay: count,
});
export type Generated = z.infer<typeof generatedSchema>;

export const journalEventSchema = z.discriminatedUnion('event', [
  z.strictObject({ event: z.literal('process-started'), at: moment }),
  /** Written by a process that was told to end, as the last line of its session. */
  z.strictObject({ event: z.literal('process-ended'), at: moment }),
  /** Written by the next life of a process about one that ended without a word. */
  z.strictObject({ event: z.literal('process-lost'), at: moment, session: z.string() }),
  z.strictObject({ event: z.literal('attempt-started'), ...attemptFields }),
  /** At an attempt's first token, and every second in which there are more. */
  z.strictObject({
    event: z.literal('generated'),
    ...attemptFields,
    at: moment,
    ...generatedSchema.shape,
  }),
  z.strictObject({
    event: z.literal('attempt-ended'),
    ...attemptFields,
    endedAt: moment,
    error: z.string().nullable().describe('Null when the attempt completed'),
    generated: generatedSchema.optional(),
  }),
  z.strictObject({
    event: z.literal('engine-call'),
    op: z.string(),
    startedAt: moment,
    endedAt: moment,
    tokens: count.optional(),
  }),
  /** An engine's process that ended though nobody closed it; `hung` when it was killed for showing no progress. */
  z.strictObject({
    event: z.literal('engine-exited'),
    at: moment,
    how: z.string(),
    hung: z.boolean().default(false),
    inFlight: count.default(0),
  }),
  z.strictObject({ event: z.literal('server-away'), startedAt: moment, endedAt: moment }),
]);
export type JournalEvent = z.output<typeof journalEventSchema>;
export type JournalEventInput = z.input<typeof journalEventSchema>;

/** A line of a journal: an event and who wrote it. A session is one life of a process. */
export const journalLineSchema = z.strictObject({
  process: z.string(),
  session: z.string(),
  pid: count,
  event: journalEventSchema,
});
export type JournalLine = z.output<typeof journalLineSchema>;
