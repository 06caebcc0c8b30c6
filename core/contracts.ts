/**
 * What activities take and give. Histories hold these values, so they are small: scalars and refs.
 * Workflows import the types; workers check the values.
 */
import { z } from 'zod';
import { runIdPattern } from './ids.ts';
import { evaluationSchema, logEntrySchema, metricsSchema, outcomes, runStatuses } from './records.ts';
import { hyperparametersSchema, recipeSchema } from './recipe.ts';
import { refSchema } from './refs.ts';
import type { Stuck } from './stuck.ts';

const iteration = z.number().int().positive();
const version = z.number().int().nonnegative();
const run = z.string().regex(runIdPattern, 'expected lower-case letters, digits and hyphens, at most 63');

/** A policy version of another run in the same store, to begin a run with. */
export const forkSchema = z.strictObject({
  run,
  version,
  optimizer: z.enum(['fresh', 'keep']).default('fresh').describe('Whether to go on with its optimizer state'),
});
export type Fork = z.infer<typeof forkSchema>;

/** The input of `trainRun`: a recipe by name or path, or inline; overrides as in `--set`; what a fork begins with. */
export const trainRunInputSchema = z
  .strictObject({
    recipe: z
      .union([z.string().min(1), z.looseObject({})])
      .optional()
      .describe('May be left out in a fork, which then has the recipe of the other run'),
    set: z.array(z.string().regex(/^[^=]+=/, 'expected path=value')).default([]),
    from: forkSchema.optional(),
  })
  .refine(({ recipe, from }) => recipe !== undefined || from !== undefined, {
    path: ['recipe'],
    message: 'missing; expected the name or path of a recipe, or from: {run, version}',
  });
export type TrainRunInput = z.input<typeof trainRunInputSchema>;

/** See log-summary.ts. */
export const logSummarySchema = z.strictObject({
  version: z.number().int(),
  evaluated: z.number().int(),
  reference: z.strictObject({ version, weights: refSchema }).nullable(),
  refusedUpdates: z.number().int().nonnegative(),
  generatedTokens: z.number().nonnegative(),
  seconds: z.number().nonnegative(),
  rules: z.array(
    z.strictObject({
      last: z.number().nullable(),
      best: z.number().nullable(),
      inARow: z.number().int().nonnegative(),
    }),
  ),
});

export const openRunInputSchema = z.strictObject({
  run,
  input: trainRunInputSchema,
  startedAt: z.string(),
  known: logSummarySchema.nullable().describe('What the history before knew of the log; null in the first'),
});
export type OpenRunInput = z.infer<typeof openRunInputSchema>;
export const batchSchema = z.strictObject({
  batch: refSchema.describe('JSONL of tasks, in group order'),
  tasks: z.number().int().positive(),
});
/** A policy that may roll out, see scheduling.ts. */
const pastPolicySchema = z.strictObject({
  iteration: z.number().int().nonnegative(),
  version,
  weights: refSchema,
  restored: z.boolean(),
});
export const openRunResultSchema = z.strictObject({
  recipe: recipeSchema,
  head: logEntrySchema.describe('Where the commit log stands: entry 0 for a new run'),
  summary: logSummarySchema.describe('Of the whole log'),
  evaluationBatch: batchSchema.nullable().describe('The held-out tasks; null without evaluation'),
  evaluations: z.array(evaluationSchema).describe('Evaluations already made'),
  past: z
    .array(pastPolicySchema)
    .min(1)
    .describe('Policies of the log that may roll out iterations to come, oldest first; the last is the head'),
});
export type OpenRunResult = z.infer<typeof openRunResultSchema>;

/** `hyperparameters` are those in force when the iteration begins. */
export const prepareBatchInputSchema = z.strictObject({
  run,
  iteration,
  hyperparameters: hyperparametersSchema,
});
export const prepareBatchResultSchema = batchSchema.extend({
  firstCursor: z.number().int().nonnegative(),
  nextCursor: z.number().int().nonnegative(),
  hyperparameters: hyperparametersSchema.describe(
    'What the iteration works with, whatever is changed meanwhile',
  ),
});
export type PrepareBatchResult = z.infer<typeof prepareBatchResultSchema>;
export type Batch = z.infer<typeof batchSchema>;

export const rolloutShardInputSchema = z.strictObject({
  run,
  /** 0 in an evaluation. */
  iteration: z.number().int().nonnegative(),
  purpose: z.enum(['training', 'evaluation']),
  shard: z.number().int().nonnegative(),
  /** Counted from 0; each goes on with what the one before left unfinished. */
  segment: z.number().int().nonnegative(),
  firstGroup: z.number().int().nonnegative(),
  groups: z.number().int().positive(),
  batch: refSchema,
  version,
  weights: refSchema,
  hyperparameters: hyperparametersSchema,
});
export type RolloutShardInput = z.infer<typeof rolloutShardInputSchema>;
export const rolloutShardResultSchema = z.strictObject({
  trajectories: z.array(refSchema).describe('JSONL parts; together each (group, sample) once'),
  episodes: z.number().int().nonnegative(),
  outcomes: z.partialRecord(z.enum(outcomes), z.number().int().nonnegative()),
  generatedTokens: z.number().int().nonnegative(),
  rewardSum: z.number(),
  seconds: z.number(),
  unfinished: z.number().int().nonnegative().describe('Episodes that are left for another segment'),
});
export type RolloutShardResult = z.infer<typeof rolloutShardResultSchema>;

/** One episode of an iteration, with the policy that acts in it (`turn` durability). */
export const episodeSchema = z.strictObject({
  run,
  iteration,
  group: z.number().int().nonnegative(),
  sample: z.number().int().nonnegative(),
  batch: refSchema,
  version,
  weights: refSchema,
  hyperparameters: hyperparametersSchema,
});
export type Episode = z.infer<typeof episodeSchema>;
export const episodeTurnSchema = z.strictObject({
  episode: episodeSchema,
  turn: z.number().int().nonnegative(),
});
export const openEnvironmentInputSchema = z.strictObject({ episode: episodeSchema });
const queue = z
  .string()
  .describe('The queue of the host that answered, which holds what the next turn can go on with');
export const agentTurnResultSchema = z.strictObject({ tokens: z.number().int().nonnegative(), queue });
export const environmentStepResultSchema = z.strictObject({ done: z.boolean(), queue });

export const collectEpisodesInputSchema = z.strictObject({
  run,
  iteration,
  shard: z.number().int().nonnegative(),
  firstGroup: z.number().int().nonnegative(),
  groups: z.number().int().positive(),
  batch: refSchema,
  startedAt: z.string(),
});

export const shapeRewardsInputSchema = z.strictObject({
  run,
  iteration,
  parent: version.describe('The policy that will learn from them'),
  trajectories: z.array(refSchema),
});
export const shapeRewardsResultSchema = z.strictObject({
  rows: refSchema.nullable().describe('JSONL of training rows; null when no group carries signal'),
  rowCount: z.number().int().nonnegative(),
  metrics: metricsSchema,
  outcomes: z.partialRecord(z.enum(outcomes), z.number().int().nonnegative()),
});
export type ShapeRewardsResult = z.infer<typeof shapeRewardsResultSchema>;

/** The policy an update starts from. */
export const policySchema = z.strictObject({
  version,
  weights: refSchema,
  optimizer: refSchema.nullable(),
  optimizerStep: z.number().int().nonnegative(),
});
export type Policy = z.infer<typeof policySchema>;

export const updateActorInputSchema = z.strictObject({
  run,
  iteration,
  parent: policySchema,
  reference: refSchema,
  rows: refSchema,
  hyperparameters: hyperparametersSchema,
});
export const warmStartInputSchema = z.strictObject({
  run,
  chunk: z.number().int().positive(),
  firstStep: z.number().int().nonnegative(),
  parent: policySchema,
});
/** What an update proposes; only `commitVersion` makes it a policy version. */
export const candidateSchema = z.strictObject({
  update: z.enum(['applied', 'refused']),
  weights: refSchema,
  optimizer: refSchema.nullable(),
  optimizerStep: z.number().int().nonnegative(),
  metrics: metricsSchema,
  phaseFinished: z.boolean(),
});
export type Candidate = z.infer<typeof candidateSchema>;

export const commitVersionInputSchema = z.strictObject({ entry: logEntrySchema });
/** `version` is the entry to append, `restores` the version whose policy it holds. */
export const rollBackInputSchema = z.strictObject({
  run,
  version: version.positive(),
  restores: version,
  hyperparameters: hyperparametersSchema,
});
export const syncWeightsInputSchema = z.strictObject({ run, version, weights: refSchema });
export const syncWeightsResultSchema = z.strictObject({ held: z.string() });

export const publishMetricsInputSchema = z.strictObject({ run, version });
export const publishMetricsResultSchema = z.strictObject({ published: z.number().int().nonnegative() });

export const summarizeEvaluationInputSchema = z.strictObject({
  run,
  version,
  shards: z.array(rolloutShardResultSchema),
});

export const closeRunInputSchema = z.strictObject({
  run,
  status: z.enum(runStatuses),
  reason: z.string().optional(),
  startedAt: z.string(),
  finishedAt: z.string(),
});
export const closeRunResultSchema = z.strictObject({
  folder: z.string(),
  report: z.string().nullable(),
  head: logEntrySchema,
});
export type CloseRunResult = z.infer<typeof closeRunResultSchema>;

export const examineRunInputSchema = z.strictObject({ run });
const stuckSchema = z.strictObject({
  ...{ what: z.string(), why: z.string(), since: z.string(), hint: z.string() },
});
export const examineRunResultSchema = z.strictObject({ stuck: stuckSchema.nullable() });

/** What `trainRun` answers to the query `status`, and returns in the end. */
export interface RunState {
  run: string;
  recipe: string;
  status:
    | 'opening'
    | 'warm-start'
    | 'training'
    | 'evaluating'
    | 'paused'
    | 'stopping'
    | 'completed'
    | 'stopped'
    | 'failed';
  iteration: number;
  iterations: number;
  policyVersion: number;
  weights: string | null;
  rewardMean: number | null;
  warmStartLoss: number | null;
  evaluation: { before: number | null; latest: number | null; latestVersion: number | null };
  generatedTokensPerSecond: number | null;
  trainedTokensPerSecond: number | null;
  secondsPerIteration: number | null;
  hyperparameters: z.infer<typeof hyperparametersSchema>;
  /** The version that the run goes back to before its next iteration. */
  rollbackTo: number | null;
  /** Updates refused for a NaN or infinite number. */
  refusedUpdates: number;
  /** Why the run was stopped or failed, and what to do then. */
  reason: string | null;
  currentChild: string | null;
  /** What keeps it from going on, as its watchdog last saw it; null when it goes on. */
  stuck: Stuck | null;
}
