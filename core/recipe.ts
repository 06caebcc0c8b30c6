/**
 * The recipe: everything that decides what a run computes. Strict: an unknown key is an error. A resolved recipe (all
 * defaults filled in) is what workflows, activities and reports work from. A recipe as written comes in through
 * `parseRecipe`, which also checks that its fields fit together and that each has an effect.
 */
import { z } from 'zod';
import { algorithmSchema } from './algorithm.ts';
import { deviceNames } from './devices.ts';
import { runIdPattern } from './ids.ts';
import { smallestTemperature, steerable, type Bounds } from './steerable.ts';

const positive = z.number().positive();
const count = z.number().int().positive();
const share = z.number().min(0).max(1);

const samplingTemperature = z.number().min(smallestTemperature).max(100);

/** Groups: repository, revision (optional), GGUF file (optional). */
export const modelHubPattern = /^([^/:@\s]+\/[^/:@\s]+)(?:@([^:\s]+))?(?::(\S+\.gguf))?$/;
const modelSchema = z.strictObject({
  initialize: z
    .strictObject({
      family: z
        .enum(['llama', 'mistral', 'qwen2', 'qwen3'])
        .default('llama')
        .describe('qwen2 has biases on queries, keys and values; qwen3 normalizes query and key heads'),
      hiddenSize: count.describe('Width of a token vector'),
      layers: count.describe('Decoder layers'),
      heads: count.describe('Query heads; a multiple of kvHeads'),
      kvHeads: count.describe('Key and value heads'),
      headSize: count.describe('Width of a head; a multiple of 16'),
      feedForwardSize: count.describe('Inner width of the feed-forward block'),
      ropeTheta: positive.default(10_000).describe('Base of the rotary position encoding'),
      normEpsilon: positive.default(1e-5).describe('Added to the mean square in RMSNorm'),
      embeddingStd: positive
        .default(0.02)
        .describe('Standard deviation of the embedding; other matrices use 1/sqrt(fan-in)'),
      maxPositions: count.describe('Longest sequence, prompt and response together, in tokens'),
      tiedHead: z.boolean().default(true).describe("The head shares the embedding's matrix"),
      tokenizer: z.literal('characters').describe('7-bit character codes; a newline ends a response'),
    })
    .optional()
    .describe('A new model with weights drawn from the run seed'),
  path: z.string().min(1).optional().describe('A Hugging Face model folder, or a .gguf file'),
  hub: z
    .string()
    .regex(modelHubPattern, 'expected <owner>/<name>[@<revision>][:<file>.gguf]')
    .optional()
    .describe('A model on the hub: <owner>/<name>[@<revision>], or with :<file>.gguf'),
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

const weight = z.number().default(1).describe('Factor of this reward in the sum');

const rewardSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('exact-match'), weight }),
  z.strictObject({ kind: z.literal('math-answer'), weight }),
  z.strictObject({
    kind: z.literal('format'),
    weight,
    pattern: z.string().min(1).describe('A regular expression that the whole response must contain'),
  }),
  z.strictObject({
    kind: z.literal('environment'),
    weight,
    name: z
      .string()
      .regex(/^[a-z][a-z0-9_-]*$/, 'expected lower-case letters, digits, hyphens and underscores')
      .describe('Which of the rewards that the program gives'),
  }),
]);

const environmentSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('single-turn') }),
  z.strictObject({
    kind: z.literal('attempts'),
    attempts: z.number().int().min(2).describe('Most responses to a task'),
    feedback: z.string().min(1).describe('What the policy reads after a wrong response'),
    discount: z
      .number()
      .positive()
      .max(1)
      .default(1)
      .describe('Factor of the reward for each attempt before the last response'),
  }),
  z.strictObject({
    kind: z.literal('command'),
    command: z
      .array(z.string().min(1))
      .min(1)
      .describe('The program and its arguments; those that begin with ./ or ../ are paths'),
    maxTurns: count.describe('Most responses in an episode'),
    timeoutSeconds: positive.max(86_400).default(60).describe('Longest wait for a reply of the program'),
  }),
]);

const optimizerSchema = z.strictObject({
  learningRate: positive.max(1).describe('Learning rate after the warm-up'),
  warmupSteps: z.number().int().nonnegative().default(0).describe('Steps of linear warm-up'),
  beta1: share.default(0.9).describe('Decay of the first moment'),
  beta2: share.default(0.999).describe('Decay of the second moment'),
  epsilon: positive.default(1e-8).describe('Added to the root of the second moment'),
  weightDecay: z.number().nonnegative().default(0).describe('Decoupled weight decay'),
  gradientClip: positive.default(1).describe('Largest global gradient norm'),
  schedule: z
    .strictObject({
      decay: z.enum(['linear', 'cosine']).describe('How the rate falls after the warm-up'),
      decaySteps: count
        .optional()
        .describe(
          'Steps, warm-up included, after which the rate has fallen; defaults to the most steps of the phase',
        ),
      finalShare: share.default(0).describe('The rate then and from then on, as a share of learningRate'),
    })
    .optional()
    .describe('How the learning rate falls; constant after the warm-up unless set'),
});

/** The matrices of a layer that an adapter can add to, under the names that PEFT uses. */
export const adapterModules = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const;

const adapterSchema = z.strictObject({
  rank: count.describe('Inner width r of each pair of matrices'),
  alpha: positive.describe('The product of a pair is scaled by alpha / rank'),
  targets: z
    .union([z.literal('all-linear'), z.array(z.enum(adapterModules)).min(1)])
    .default('all-linear')
    .describe('The matrices that get a pair: all-linear, or a list of names'),
  rankStabilized: z.boolean().default(false).describe('Scale by alpha / sqrt(rank) instead (rsLoRA)'),
});

const metricName = z.string().min(1).describe('A metric of iterations, or evaluation/accuracy');
const stopRuleSchema = z.strictObject({
  metric: metricName.optional(),
  above: z.number().optional().describe('Stop when the metric is greater'),
  below: z.number().optional().describe('Stop when the metric is less'),
  for: count.optional().describe('Iterations in a row for which that must hold; 1 unless set'),
  plateau: z
    .strictObject({
      metric: metricName,
      iterations: count.describe('Iterations in a row without an improvement'),
      minDelta: z.number().nonnegative().default(0).describe('What is no more than this is no improvement'),
      goal: z.enum(['higher', 'lower']).default('higher').describe('Which way is an improvement'),
    })
    .optional()
    .describe('Stop when a metric no longer improves on its best value'),
  wallSeconds: positive.optional().describe('Stop when the run has taken this long, pauses included'),
  generatedTokens: count.optional().describe('Stop when iterations have sampled this many tokens'),
});

export const recipeSchema = z.strictObject({
  name: z
    .string()
    .regex(runIdPattern, 'expected lower-case letters, digits and hyphens')
    .describe('Lower-case letters, digits and hyphens'),
  description: z.string().default('').describe('For the reader'),
  seed: z.number().int().min(0).max(0xffff_ffff).default(1).describe('Every random number follows from it'),
  model: modelSchema,
  data: z.strictObject({
    train: dataSchema,
    evaluation: dataSchema.optional().describe('Defaults to the held-out part of the training source'),
  }),
  prompt: z
    .strictObject({
      template: z
        .enum(['raw', 'chat'])
        .default('raw')
        .describe('raw: the text of the task; chat: a user message in the chat template of the model'),
      system: z.string().optional().describe('System message (chat template only)'),
    })
    .default({ template: 'raw' }),
  environment: environmentSchema
    .default({ kind: 'single-turn' })
    .describe('What answers the responses of the policy'),
  rewards: z.array(rewardSchema).min(1).describe('Summed by weight; the first decides the held-out accuracy'),
  warmStart: z
    .strictObject({
      batchRows: count.describe('Examples of one optimizer step'),
      maxSteps: count.describe('Most optimizer steps'),
      stopLoss: positive.describe('Stop when the mean training loss of a window falls below this'),
      window: count.default(10).describe('Steps between looks at the loss'),
      commitEvery: count.default(50).describe('Steps in one durable update'),
      optimizer: optimizerSchema,
    })
    .optional()
    .describe('Supervised training on reference answers before reinforcement'),
  rollout: z.strictObject({
    tasksPerIteration: count.describe('Tasks of one iteration'),
    groupSize: count.describe('Samples of one task'),
    maxNewTokens: count.describe('Longest response of a turn; a longer one is cut off (outcome truncated)'),
    temperature: samplingTemperature.default(1).describe('Sampling temperature; training uses the same'),
    topK: z
      .number()
      .int()
      .nonnegative()
      .default(0)
      .describe('Sample from the likeliest tokens only; 0 means all'),
    topP: z
      .number()
      .positive()
      .max(1)
      .default(1)
      .describe('Sample from the likeliest tokens that have this probability together'),
    durability: z
      .enum(['shard', 'turn'])
      .default('shard')
      .describe('What a crash can cost: the unfinished episodes of a shard, or one turn of each episode'),
    tasksPerShard: count.optional().describe('Tasks in one rolloutShard activity; defaults to all'),
    persistEvery: count.default(512).describe('Finished trajectories between two writes of a shard'),
  }),
  algorithm: algorithmSchema.prefault({}),
  adapter: adapterSchema
    .optional()
    .describe(
      'Train a low-rank adapter (LoRA) on the frozen weights, in the warm start and in reinforcement',
    ),
  training: z.strictObject({
    iterations: z.number().int().nonnegative().describe('Iterations of the run'),
    minibatchRows: count.describe('Rows of one optimizer step'),
    microbatchTokens: count.default(16_384).describe('Padded tokens of one forward and backward pass'),
    epochs: count.default(1).describe('Passes over the rows of an iteration'),
    onNonFinite: z
      .enum(['skip', 'lower-learning-rate', 'stop'])
      .default('skip')
      .describe('What follows an update that was refused for a NaN or infinite loss or gradient'),
    learningRateBackoff: z
      .strictObject({
        factor: positive.max(0.99).default(0.5).describe('Factor of the learning rate after each refusal'),
        floor: positive.max(1).default(1e-8).describe('The learning rate is lowered no further'),
      })
      .optional()
      .describe('How training.onNonFinite "lower-learning-rate" lowers it'),
    frozen: z
      .array(z.string().min(1))
      .default([])
      .describe(
        'Names of tensors that are not trained; * stands for any characters, {0..3} for a range, {a,b} for a choice',
      ),
    checkpointing: z
      .boolean()
      .default(false)
      .describe(
        'Compute activations twice instead of keeping them: less memory, more time, the same numbers',
      ),
    optimizer: optimizerSchema,
  }),
  evaluation: z
    .strictObject({
      every: count.describe('Iterations between evaluations; the first and last policy are always evaluated'),
      tasks: count.describe('Held-out tasks'),
      maxNewTokens: count.optional().describe('Longest response; that of rollout unless set'),
    })
    .optional(),
  stopping: z
    .array(stopRuleSchema)
    .default([])
    .describe('Rules, looked at after each iteration, any of which ends the run as `stop` does'),
  engine: z
    .strictObject({
      kind: z.enum(['embedded']).default('embedded').describe('Which engine'),
      device: z
        .enum(deviceNames)
        .default('cpu')
        .describe('What it computes on; cuda trains and scores, and generates on the CPU'),
      threads: count.default(2).describe('CPU threads of the engine'),
      slots: z.number().int().min(2).default(64).describe('Sequences decoded together'),
      hangSeconds: positive
        .default(120)
        .describe('An engine that has work and uses no processor time for this long is killed'),
    })
    .prefault({}),
  schedule: z
    .strictObject({
      heartbeatSeconds: positive.default(10).describe('A worker silent for this long is taken for dead'),
      hostSeconds: positive
        .max(600)
        .default(5)
        .describe(
          'How long a turn waits for the host that the turn before was on, before any other may take it (turn durability)',
        ),
      iterationsPerHistory: count.default(20).describe('Iterations before the workflow continues as new'),
      mode: z
        .enum(['sync', 'one-step-off', 'async'])
        .default('sync')
        .describe(
          'Whether an iteration is rolled out while others learn: never; the next one, with the policy before; or several, with the newest policy',
        ),
      maxStaleness: z
        .number()
        .int()
        .nonnegative()
        .optional()
        .describe(
          'Updates between the policy that sampled a token and the one that learns from it (async only)',
        ),
      lookahead: count
        .optional()
        .describe('Iterations that are rolled out before their turn; maxStaleness unless set (async only)'),
      interrupt: z
        .boolean()
        .optional()
        .describe('Go on with newer weights in the midst of a response; false unless set (async only)'),
      stragglerSeconds: positive
        .optional()
        .describe('How long a shard generates before what is not finished counts as late (async only)'),
      stragglers: z
        .enum(['resume', 'drop'])
        .optional()
        .describe('Late episodes go on in a new activity, or are dropped; resume unless set'),
      overStale: z
        .enum(['drop', 'correct'])
        .optional()
        .describe(
          'Rows older than maxStaleness: dropped, or weighted by importance; drop unless set (needs a larger lookahead)',
        ),
      importanceCap: positive
        .optional()
        .describe('Largest importance weight of a token; 2 unless set (overStale: correct only)'),
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
export type EnvironmentSettings = z.infer<typeof environmentSchema>;
export type AdapterSettings = z.infer<typeof adapterSchema>;
export type StopRule = z.infer<typeof stopRuleSchema>;
export type AdapterModule = (typeof adapterModules)[number];
export type ModelInitialization = NonNullable<z.infer<typeof modelSchema>['initialize']>;

const within = ({ least, most }: Bounds) =>
  (least === undefined ? positive : z.number().min(least)).max(most).optional();
/** What may be changed while a run is going on; applied from the next iteration and recorded in the commit log. */
export const hyperparametersSchema = z.strictObject({
  learningRate: within(steerable.learningRate),
  temperature: within(steerable.temperature),
  klCoefficient: within(steerable.klCoefficient),
  clipLow: within(steerable.clipLow),
  clipHigh: within(steerable.clipHigh),
  entropyCoefficient: within(steerable.entropyCoefficient),
});
export type Hyperparameters = z.infer<typeof hyperparametersSchema>;
