/** What `plan` is made of and what it says. */
import { z } from 'zod';
import { modelShapeSchema, type ModelShape } from './model-shape.ts';

/** Something that a run would fail on. */
export interface MissingPiece {
  cause: 'DataError' | 'ModelError';
  /** A sentence. */
  message: string;
}

/** What a plan needs to know beyond the recipe. */
export interface PlanFacts {
  /** Null when the model folder can't be read. */
  model: ModelShape | null;
  /** Training tasks of one epoch; null when endless or unknown. */
  dataSize: number | null;
  cores: number;
  memoryBytes: number;
  /** What a run would fail on, with the cause of its failure. */
  missing: MissingPiece[];
  /** What is worth knowing before a start, a sentence each. */
  notes: string[];
  /** Sustained floating-point operations a second on one core. */
  flopsPerCore?: number;
}

const whole = z.number().int().nonnegative();
const range = z.strictObject({ min: whole, max: whole });
const bytes = z.number().nonnegative();
const seconds = z.strictObject({
  warmStart: z.number(),
  rollout: z.number(),
  training: z.number(),
  evaluation: z.number(),
  orchestration: z.number(),
  total: z.number(),
});

export const planSchema = z.strictObject({
  recipe: z.string(),
  ready: z.boolean().describe('Nothing is missing'),
  missing: z.array(z.string()),
  cause: z
    .enum(['DataError', 'ModelError'])
    .nullable()
    .describe('Of the error that a run would end with; null when it is ready'),
  notes: z.array(z.string()),
  model: z.strictObject({ parameters: whole, ...modelShapeSchema.shape }).nullable(),
  iteration: z.strictObject({
    tasks: whole,
    groupSize: whole,
    episodes: whole,
    shards: whole,
    promptTokens: whole.nullable().describe('Longest prompt; null when it takes the tokenizer to know'),
    generatedTokens: whole.describe('At most'),
    rows: whole.describe('Training rows, at most'),
    minibatches: whole.describe('Optimizer steps of one pass over all rows'),
    optimizerSteps: range.describe('Groups without signal can leave an iteration without a step'),
  }),
  run: z.strictObject({
    warmStartSteps: whole.describe('At most'),
    iterations: whole,
    episodes: whole,
    generatedTokens: whole.describe('At most'),
    optimizerSteps: range,
    policyVersions: whole.describe('Committed versions, the initial one included; at most'),
    evaluations: whole,
    evaluationEpisodes: whole,
    epochs: z.number().nullable().describe('Passes over the training data; null when it is endless'),
  }),
  queues: z.array(z.strictObject({ queue: z.string(), work: z.string() })),
  memory: z
    .strictObject({
      weights: bytes,
      gradients: bytes,
      moments: bytes,
      rolloutWeights: bytes,
      referenceWeights: bytes,
      keyValueCache: bytes,
      activations: bytes,
      total: bytes.describe('The engine alone'),
      available: bytes,
    })
    .nullable(),
  disk: z
    .strictObject({
      perVersion: bytes.describe('Weights and optimizer state'),
      perIteration: bytes.describe('Trajectories and rows'),
      total: bytes,
    })
    .nullable(),
  time: z
    .strictObject({
      likely: seconds,
      atMost: seconds.describe(
        'Every response at full length, every group with signal, the warm start to its last step',
      ),
      assumptions: z.array(z.string()),
    })
    .nullable(),
});
export type Plan = z.infer<typeof planSchema>;
