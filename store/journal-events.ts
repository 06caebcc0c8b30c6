/** What a process writes into its journal. Times are ISO 8601, UTC. */
import { z } from 'zod';
import { pools, type Pool } from '../core/ids.ts';

const moment = z.iso.datetime();
const count = z.number().int().nonnegative();

/** One attempt of an activity; the same fields stand in the lines of its start and of its end. */
const attemptFields = {
  activity: z.string(),
  /** Business key of the result, where the writer knows it. */
  key: z.string().nullable().default(null),
  iteration: count.nullable().default(null),
  attempt: z.number().int().positive(),
  pool: z.enum(pools as [Pool, ...Pool[]]),
  startedAt: moment,
};

export const journalEventSchema = z.discriminatedUnion('event', [
  z.strictObject({ event: z.literal('process-started'), at: moment }),
  z.strictObject({ event: z.literal('attempt-started'), ...attemptFields }),
  z.strictObject({
    event: z.literal('attempt-ended'),
    ...attemptFields,
    endedAt: moment,
    error: z.string().nullable().describe('Null when the attempt completed'),
  }),
  z.strictObject({
    event: z.literal('engine-call'),
    op: z.string(),
    startedAt: moment,
    endedAt: moment,
    tokens: count.optional(),
  }),
  z.strictObject({ event: z.literal('fault'), at: moment, kind: z.string(), detail: z.string() }),
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
