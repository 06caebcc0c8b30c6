/**
 * The recipe: everything that decides what a run computes. Strict: an unknown key is an error. A resolved recipe (all
 * defaults filled in) is what workflows, activities and reports work from. A recipe as written comes in through
 * `parseRecipe`, which also checks that its fields fit together and that each has an effect.
 */
import { z } from 'zod';
import { runIdPattern } from './ids.ts';

const positive = z.number().positive();
const count = z.number().int().positive();
const share = z.number().min(0).max(1);

const modelSchema = z.strictObject({
  initialize: z
    .strictObject({
      hiddenSize: count,
      layers: count,
      heads: count,
      kvHeads: count,
      headSize: count,
      feedForwardSize: count,
      ropeTheta: positive.default(10_000),
      normEpsilon: positive.default(1e-5),
      embeddingStd: positive
        .default(0.02)
        .describe('Standard deviation of the embedding; other matrices use 1/sqrt(fan-in)'),
      maxPositions: count.describe('Longest sequence, prompt and response together, in tokens'),
      tokenizer: z.literal('characters').describe('7-bit character codes; a newline ends a response'),
    })
    .optional()
    .describe('A new Llama-architecture model with weights drawn from the run seed'),
  path: z.string().min(1).optional().describe('A Hugging Face model folder'),
});

const addition = z.strictObject({
  source: z.literal('addition'),
  digits: z.number().int().min(1).max(6).default(3).describe('Digits of each operand'),
});
/** Groups: repository, revision (optional), path. */
export const hubFilePattern = /^([^/:@\s]+\/[^/:@\s]+)(?:@([^:\s]+))?:([^\s].*)$/;
const questions = z.strictObject({
  source: z.literal('gsm8k'),
  path: z
    .string()
    .min(1)
    .optional()
    .describe('A .jsonl, .jsonl.gz or .parquet file with the columns question and answer'),
  hub: z
    .string()
    .regex(hubFilePattern, 'expected <owner>/<name>:<path in the repository>')
    .optional()
    .describe('A data set file on the hub: <owner>/<name>[@<revision>]:<path in the repository>'),
});
const dataSchema = z.discriminatedUnion('source', [addition, questions]);

const rewardSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('exact-match'), weight: z.number().default(1) }),
  z.strictObject({ kind: z.literal('math-answer'), weight: z.number().default(1) }),
  z.strictObject({
    kind: z.literal('format'),
    weight: z.number().default(1),
    pattern: z.string().min(1).describe('A regular expression that the whole response must contain'),
  }),
]);

export const advantageNames = ['grpo', 'dr-grpo', 'rloo', 'reinforce'] as const;
export const aggregationNames = [
  'token-mean',
  'sequence-mean-token-mean',
  'sequence-mean-token-sum',
] as const;
export const klEstimatorNames = ['k1', 'k2', 'k3'] as const;

const algorithmSchema = z.strictObject({
  advantage: z.enum(advantageNames).default('grpo'),
  advantageEpsilon: positive
    .default(1e-4)
    .describe('Added to the standard deviation that divides the advantage (grpo only)'),
  loss: z.enum(['ppo-clip']).default('ppo-clip'),
  clipLow: positive.max(1).default(0.2),
  clipHigh: positive.default(0.2),
  aggregation: z.enum(aggregationNames).default('token-mean'),
  kl: z
    .strictObject({
      coefficient: positive,
      estimator: z.enum(klEstimatorNames).default('k3'),
    })
    .optional()
    .describe('A KL term to the initial policy, added to the loss'),
  dropZeroVarianceGroups: z
    .boolean()
    .default(true)
    .describe('Leave out groups all of whose advantages are 0: they carry no signal'),
});

const optimizerSchema = z.strictObject({
  learningRate: positive,
  warmupSteps: z.number().int().nonnegative().default(0),
  beta1: share.default(0.9),
  beta2: share.default(0.999),
  epsilon: positive.default(1e-8),
  weightDecay: z.number().nonnegative().default(0),
  gradientClip: positive.default(1).describe('Largest global gradient norm'),
});

export const recipeSchema = z.strictObject({
  name: z.string().regex(runIdPattern, 'expected lower-case letters, digits and hyphens'),
  description: z.string().default(''),
  seed: z.number().int().min(0).max(0xffff_ffff).default(1),
  model: modelSchema,
  data: z.strictObject({
    train: dataSchema,
    evaluation: dataSchema.optional().describe('Defaults to the held-out part of the training source'),
  }),
  prompt: z
    .strictObject({
      template: z.enum(['raw', 'chat']).default('raw'),
      system: z.string().optional().describe('System message (chat template only)'),
    })
    .default({ template: 'raw' }),
  rewards: z.array(rewardSchema).min(1).describe('Summed by weight; the first decides the held-out accuracy'),
  warmStart: z
    .strictObject({
      batchRows: count,
      maxSteps: count,
      stopLoss: positive.describe('Stop when the mean training loss of a window falls below this'),
      window: count.default(10).describe('Steps between looks at the loss'),
      commitEvery: count.default(50).describe('Steps in one durable update'),
      optimizer: optimizerSchema,
    })
    .optional()
    .describe('Supervised training on reference answers before reinforcement'),
  rollout: z.strictObject({
    tasksPerIteration: count,
    groupSize: count.describe('Samples of one task'),
    maxNewTokens: count,
    temperature: positive.default(1),
    topK: z.number().int().nonnegative().default(0).describe('0 means all tokens'),
    topP: z.number().positive().max(1).default(1),
    durability: z
      .enum(['shard', 'turn'])
      .default('shard')
      .describe('What a crash can cost: the unfinished episodes of a shard, or one turn of each episode'),
    tasksPerShard: count.optional().describe('Tasks in one rolloutShard activity; defaults to all'),
    persistEvery: count.default(512).describe('Finished trajectories between two writes of a shard'),
  }),
  algorithm: algorithmSchema.prefault({}),
  training: z.strictObject({
    iterations: z.number().int().nonnegative(),
    minibatchRows: count.describe('Rows of one optimizer step'),
    microbatchTokens: count.default(16_384).describe('Padded tokens of one forward and backward pass'),
    epochs: count.default(1),
    onNonFinite: z
      .enum(['skip', 'stop'])
      .default('skip')
      .describe('What a NaN or infinite loss or gradient does'),
    optimizer: optimizerSchema,
  }),
  evaluation: z
    .strictObject({
      every: count.describe('Iterations between evaluations; the first and last policy are always evaluated'),
      tasks: count.describe('Held-out tasks'),
      maxNewTokens: count.optional(),
    })
    .optional(),
  engine: z
    .strictObject({
      kind: z.enum(['embedded']).default('embedded'),
      threads: count.default(2),
      slots: z.number().int().min(2).default(64).describe('Sequences decoded together'),
    })
    .prefault({}),
  schedule: z
    .strictObject({
      heartbeatSeconds: positive.default(10).describe('A worker silent for this long is taken for dead'),
      iterationsPerHistory: count.default(20).describe('Iterations before the workflow continues as new'),
    })
    .prefault({}),
});

/** A recipe with every default filled in. */
export type Recipe = z.infer<typeof recipeSchema>;
/** A recipe as written. */
export type RecipeInput = z.input<typeof recipeSchema>;
export type OptimizerSettings = z.infer<typeof optimizerSchema>;
export type DataSource = z.infer<typeof dataSchema>;
export type RewardSettings = z.infer<typeof rewardSchema>;
export type AlgorithmSettings = z.infer<typeof algorithmSchema>;
export type ModelInitialization = NonNullable<z.infer<typeof modelSchema>['initialize']>;

/** What may be changed while a run is going on; applied from the next iteration and recorded in the commit log. */
export const hyperparametersSchema = z.strictObject({
  learningRate: positive.optional(),
  temperature: positive.optional(),
  klCoefficient: positive.optional(),
});
export type Hyperparameters = z.infer<typeof hyperparametersSchema>;
