/**
 * The algorithm of a recipe: advantage estimator × policy loss × aggregation × divergence × filters. Parts are unions of their
 * kinds, so a key that a kind does not have is an error.
 */
import { z } from 'zod';

const positive = z.number().positive();
const share = z.number().min(0).max(1);

const epsilon = positive.default(1e-4).describe('Added to the standard deviation that divides the advantage');
const discount = share.default(1).describe('Factor of a reward for each token that it comes later');

export const advantageSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('grpo'), epsilon }),
  z.strictObject({ kind: z.literal('dr-grpo') }),
  z.strictObject({ kind: z.literal('rloo') }),
  z.strictObject({ kind: z.literal('reinforce'), discount }),
  z.strictObject({ kind: z.literal('opo') }),
  z.strictObject({ kind: z.literal('gpg') }),
  z.strictObject({ kind: z.literal('grpo-pass-at-k'), epsilon }),
  z.strictObject({
    kind: z.literal('cpgd'),
    weight: z
      .enum(['equal', 'standard-deviation', 'clip-filter'])
      .default('equal')
      .describe("What deviations from the group's mean are scaled by"),
  }),
]);
export type AdvantageSettings = z.infer<typeof advantageSchema>;

const clipLow = (bound: number) =>
  positive.max(1).default(bound).describe('The ratio is clipped below at 1 - clipLow');
const clipHigh = (bound: number) =>
  positive.default(bound).describe('The ratio is clipped above at 1 + clipHigh');
const clipRange = { clipLow: clipLow(0.2), clipHigh: clipHigh(0.2) };
const sequenceClipRange = { clipLow: clipLow(3e-4), clipHigh: clipHigh(4e-4) };
const truncation = positive.default(20).describe('The weight of a token is at most this');

export const lossSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('ppo-clip'),
    ...clipRange,
    dualClip: z
      .number()
      .gt(1)
      .optional()
      .describe('The loss of a token with a negative advantage is at most this times its size'),
  }),
  z.strictObject({ kind: z.literal('gspo'), ...sequenceClipRange }),
  z.strictObject({ kind: z.literal('gspo-token'), ...sequenceClipRange }),
  z.strictObject({
    kind: z.literal('gmpo'),
    clipLow: positive.default(0.4).describe('The log-ratio is clipped below at -clipLow'),
    clipHigh: positive.default(0.4).describe('The log-ratio is clipped above at clipHigh'),
  }),
  z.strictObject({ kind: z.literal('cispo'), ...clipRange }),
  z.strictObject({
    kind: z.literal('cpgd'),
    clipLow: positive.lt(1).default(0.2).describe('The ratio is clipped below at 1 - clipLow'),
    clipHigh: clipHigh(0.2),
  }),
  z.strictObject({
    kind: z.literal('sapo'),
    tauPositive: positive.default(1).describe('Sharpness of the gate where the advantage is positive'),
    tauNegative: positive.default(1.05).describe('Sharpness of the gate elsewhere'),
  }),
  z.strictObject({ kind: z.literal('reinforce') }),
  z.strictObject({ kind: z.literal('importance-sampling') }),
  z.strictObject({
    kind: z.literal('dppo-tv'),
    clipLow: positive.default(0.15).describe('Largest fall of the probability of a token'),
    clipHigh: positive.default(0.15).describe('Largest rise of the probability of a token'),
    truncation,
  }),
  z.strictObject({
    kind: z.literal('dppo-kl'),
    clipLow: positive.default(0.05).describe('Largest divergence of a token that became less likely'),
    clipHigh: positive.default(0.05).describe('Largest divergence of a token that became likelier'),
    truncation,
  }),
  z.strictObject({
    kind: z.literal('dro'),
    beta: positive.default(0.5).describe('Weight of the squared log-ratio'),
  }),
]);
export type LossChoice = z.infer<typeof lossSchema>;

export const aggregationNames = [
  'token-mean',
  'token-sum',
  'sequence-mean-token-mean',
  'sequence-mean-token-sum',
  'sequence-mean-token-sum-norm',
] as const;

export const klEstimatorNames = [
  'k1',
  'absolute',
  'k2',
  'k3',
  'k3-clamped',
  'k3-unbiased',
  'k3-gradient-k2',
] as const;

export const algorithmSchema = z.strictObject({
  advantage: advantageSchema.prefault({ kind: 'grpo' }).describe('Estimator of the advantage'),
  whitenAdvantages: z
    .boolean()
    .default(false)
    .describe(
      'Shift and scale the advantages to mean 0 and variance 1 over all trained tokens of the iteration',
    ),
  loss: lossSchema.prefault({ kind: 'ppo-clip' }).describe('Loss of a token'),
  aggregation: z.enum(aggregationNames).default('token-mean').describe('How token losses make up one loss'),
  kl: z
    .strictObject({
      coefficient: positive.describe('Factor of the term'),
      estimator: z.enum(klEstimatorNames).default('k3').describe('Estimator of the divergence'),
    })
    .optional()
    .describe('A KL term to the policy that reinforcement began with, added to the loss'),
  entropyCoefficient: positive
    .optional()
    .describe('The entropy of each token, times this, is taken off the loss'),
  overlong: z
    .strictObject({
      buffer: z
        .number()
        .int()
        .positive()
        .describe('Tokens before the longest response from which the penalty grows'),
      factor: positive.default(1).describe('Penalty of the longest response'),
    })
    .optional()
    .describe('A penalty for responses that come near rollout.maxNewTokens, taken off the reward'),
  dropTruncated: z
    .boolean()
    .default(false)
    .describe('Truncated trajectories count in the statistics of their group, but are not trained on'),
  rewardClip: positive.optional().describe('Rewards beyond this, penalty included, are cut to it'),
  dropZeroVarianceGroups: z
    .boolean()
    .default(true)
    .describe('Leave out groups all of whose advantages are 0: they carry no signal'),
});
export type AlgorithmSettings = z.infer<typeof algorithmSchema>;
