/** Records that outlive a process: what a dataset row, a trajectory, a training row and a committed version look like. */
import { z } from 'zod';
import { faultTotalsSchema } from './fault-totals.ts';
import { hyperparametersSchema } from './recipe.ts';
import { refSchema } from './refs.ts';

/** One prompt with what its verifier needs. `id` is unique within a dataset. */
export const taskSchema = z.strictObject({
  id: z.string().min(1),
  prompt: z.string(),
  answer: z.string(),
});
export type Task = z.infer<typeof taskSchema>;

export const outcomes = ['scored', 'truncated', 'failed', 'infra-failed', 'dropped'] as const;
export type Outcome = (typeof outcomes)[number];

/** So many tokens of a turn, sampled by one policy version. */
export const spanSchema = z.strictObject({
  version: z.number().int().nonnegative(),
  tokens: z.number().int().nonnegative(),
});
export type Span = z.infer<typeof spanSchema>;

/**
 * One model call of an episode. `observationIds` are the tokens put before it since the last turn (the whole prompt in the
 * first turn), never trained on; `responseIds` were sampled by the policy versions of `spans`, in order, with their log-probs.
 * A turn has one span unless it was interrupted and went on with newer weights.
 */
export const turnSchema = z.strictObject({
  observationIds: z.array(z.number().int().nonnegative()),
  responseIds: z.array(z.number().int().nonnegative()),
  logprobs: z.array(z.number()),
  spans: z.array(spanSchema).min(1),
  finish: z.enum(['stop', 'length', 'abort']).describe('abort: given up before it was finished'),
});
export type Turn = z.infer<typeof turnSchema>;

export const trajectorySchema = z.strictObject({
  iteration: z.number().int(),
  group: z.number().int().nonnegative(),
  sample: z.number().int().nonnegative(),
  taskId: z.string(),
  turns: z.array(turnSchema),
  response: z.string().describe('What was sampled as text, a line break between turns'),
  outcome: z.enum(outcomes),
  reason: z.string().optional(),
  rewards: z.record(z.string(), z.number()).describe('Reward of each source, unweighted'),
  reward: z
    .number()
    .describe('Weighted sum of the rewards, times the discount of the environment where it has one'),
});
export type Trajectory = z.infer<typeof trajectorySchema>;

/** One training sequence. Arrays after `ids` have its length; entries where `trained` is 0 are 0. */
export const rowSchema = z.strictObject({
  group: z.number().int().nonnegative(),
  sample: z.number().int().nonnegative(),
  ids: z.array(z.number().int().nonnegative()),
  trained: z.array(z.literal([0, 1])),
  logprobs: z.array(z.number()),
  advantage: z
    .union([z.number(), z.array(z.number())])
    .describe('One number for all trained tokens, or one for each'),
  overStale: z
    .literal(true)
    .optional()
    .describe('Sampled by a policy so old that each token is weighted by its importance'),
});
export type Row = z.infer<typeof rowSchema>;

export const metricsSchema = z.record(z.string(), z.number());
export type Metrics = z.infer<typeof metricsSchema>;

/** Entry n of a run's commit log: how policy version n came to be. `parent` is version n-1's weights hash, null for n = 0. */
export const logEntrySchema = z.strictObject({
  run: z.string(),
  version: z.number().int().nonnegative(),
  parent: z.string().nullable(),
  kind: z.enum(['initial', 'warm-start', 'reinforcement', 'rollback']),
  /** Iterations are counted from 1; a warm-start update carries its chunk number, a rollback the last iteration's. */
  iteration: z.number().int().nonnegative(),
  update: z.enum(['applied', 'no-signal', 'refused']),
  weights: refSchema,
  optimizer: refSchema.nullable(),
  optimizerStep: z.number().int().nonnegative().describe('Optimizer steps since the moments were last reset'),
  batch: refSchema.nullable(),
  trajectories: z.array(refSchema),
  rows: refSchema.nullable(),
  outcomes: z.partialRecord(z.enum(outcomes), z.number().int().nonnegative()),
  hyperparameters: hyperparametersSchema,
  metrics: metricsSchema,
  /** True on the warm start's last update, and where a run begins behind one. */
  phaseFinished: z.boolean(),
  restores: z.number().int().nonnegative().optional().describe('The version that a rollback went back to'),
});
export type LogEntry = z.infer<typeof logEntrySchema>;

export const evaluationSchema = z.strictObject({
  version: z.number().int().nonnegative(),
  tasks: z.number().int().nonnegative(),
  accuracy: z.number(),
  meanLength: z.number(),
  trajectories: z.array(refSchema),
});
export type Evaluation = z.infer<typeof evaluationSchema>;

export const runStatuses = ['running', 'completed', 'stopped', 'failed'] as const;
export type RunStatus = (typeof runStatuses)[number];

/** `meta.json` of a run folder. */
export const metaSchema = z.strictObject({
  runId: z.string(),
  recipe: z.string(),
  status: z.enum(runStatuses),
  policyVersion: z.number().int().nonnegative(),
  evaluation: z.strictObject({ before: z.number().nullable(), after: z.number().nullable() }),
  wallSeconds: z.number().nonnegative(),
  startedAt: z.string(),
  finishedAt: z.string().nullable(),
  weights: z.string().nullable(),
  store: z.string(),
  reason: z.string().optional(),
  from: z
    .strictObject({ run: z.string(), version: z.number().int().nonnegative() })
    .optional()
    .describe('The policy version of another run that this one began with'),
  refusedUpdates: z.number().int().positive().optional().describe('Updates refused for NaN or infinity'),
  faults: faultTotalsSchema.optional().describe('Faults that the run met, and what they cost'),
});
export type Meta = z.infer<typeof metaSchema>;
