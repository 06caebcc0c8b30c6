/** The moments of an activity at which a fault can be made to happen, and what passes between a worker and the test at each. */
import { z } from 'zod';

/** In the order in which an activity passes them; `before-completion` is when its result is not yet on its way to the server. */
export const boundaries = [
  'before-artifact',
  'after-artifact',
  'before-result',
  'after-result',
  'before-commit',
  'after-commit',
  'before-completion',
] as const;
export type Boundary = (typeof boundaries)[number];

export const faultPointSchema = z.strictObject({
  boundary: z.enum(boundaries),
  activity: z.string(),
  attempt: z.number().int().positive(),
  /** Of the workflow that scheduled the activity. */
  workflowId: z.string(),
  pid: z.number().int(),
});
export type FaultPoint = z.infer<typeof faultPointSchema>;

/** What the worker does then. */
export const orderSchema = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('go-on') }),
  /** The write fails as one on a disk with an input/output error does. */
  z.strictObject({ do: z.literal('fail-write') }),
  /** The clock of the process is moved. */
  z.strictObject({ do: z.literal('shift-clock'), hours: z.number() }),
]);
export type Order = z.infer<typeof orderSchema>;

export const reachedSchema = z.strictObject({ id: z.number().int(), point: faultPointSchema });
export const answerSchema = z.strictObject({ id: z.number().int(), order: orderSchema });
