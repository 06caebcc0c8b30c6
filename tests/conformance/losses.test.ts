/**
 * Losses, divergences and aggregations against verl 0.9.1. What differs, and why:
 * - verl adds 1e-8 to the number of tokens of a sequence before it divides by it; the weights below do so too. Within GMPO's
 *   exponent they can't: its numbers agree to 8 digits, all others to 9.
 * - verl draws Clip-Cov's tokens with torch's generator; the vectors take all that qualify.
 */
import { describe, expect, it } from 'vitest';
import { tokenWeights } from '../../core/aggregation.ts';
import { chooseForClipCov, chooseForKlCov } from '../../core/covariance-choice.ts';
import { evaluateLoss, Float64Tape } from '../../core/loss/float64-tape.ts';
import type { PolicyLossSettings } from '../../core/loss/settings.ts';
import { valueLoss } from '../../core/loss/value-loss.ts';
import { seedAt } from '../../core/seeds.ts';
import { aggregationOf, verlVectors, type LossCase } from './verl-vectors.ts';

const { batch, cases } = verlVectors.losses;
const longest = 7;

function chosenTokens({ name, settings, advantages }: LossCase): ArrayLike<number> | undefined {
  const tokens = { logprobsT: batch.logprobs, advantagesT: batch.advantages[advantages] };
  if (name === 'kl-cov') return chooseForKlCov(tokens, settings['share']!);
  if (name !== 'clip-cov') return undefined;
  const { clipLow, clipHigh, share, lowest, highest } = settings;
  const isClippedT = batch.logprobs.map((logprob, t) => {
    const ratio = Math.exp(logprob - batch.oldLogprobs[t]!);
    return Number(tokens.advantagesT[t]! > 0 ? ratio > 1 + clipHigh! : ratio < 1 - clipLow!);
  });
  return chooseForClipCov(
    { ...tokens, isClippedT },
    { share: share!, lowest: lowest!, highest: highest! },
    seedAt(1, 'covarianceChoice', 1, 0),
  );
}

const labelled = cases.map((one) => ({
  label: `${one.name} ${JSON.stringify(one.settings)}, ${one.aggregation}, ${one.advantages} advantages${one.corrected ? ', corrected' : ''}`,
  one,
}));

describe.each(labelled)('$label', ({ one }) => {
  it('has the loss and gradient of verl', () => {
    const digits = one.name === 'gmpo' ? 8 : 9;
    const settings = {
      name: one.name,
      ...one.settings,
      kl: null,
      corrected: one.corrected,
    } as PolicyLossSettings;
    const chosen = chosenTokens(one);
    const evaluated = evaluateLoss(
      settings,
      {
        logprobs: batch.logprobs,
        oldLogprobs: batch.oldLogprobs,
        referenceLogprobs: batch.logprobs,
        advantages: batch.advantages[one.advantages],
        importance: batch.importance,
        ...(chosen && { chosen }),
      },
      batch.counts,
      tokenWeightsOf(one),
    );
    const loss = tokenWeightsOf(one).reduce((sum, weight, t) => sum + weight * evaluated.loss[t]!, 0);
    expect(loss).toBeCloseTo(one.loss, digits);
    one.gradient.forEach((expected, t) =>
      expect(evaluated.gradient[t], `token ${t}`).toBeCloseTo(expected, digits),
    );
  });
});

/** Of each token. */
function tokenWeightsOf({ aggregation }: LossCase): number[] {
  const weightsR = tokenWeights(aggregationOf(aggregation), batch.counts, { constantLength: longest });
  return batch.counts.flatMap((count, row) => {
    const verlShare = aggregation === 'seq-mean-token-mean' ? count / (count + 1e-8) : 1;
    return new Array<number>(count).fill(verlShare * weightsR[row]!);
  });
}

describe.each(verlVectors.divergences.cases)(
  'the divergence $estimator',
  ({ estimator, value, gradient }) => {
    it('has the value and gradient of verl', () => {
      const { logprobs, referenceLogprobs } = verlVectors.divergences.batch;
      const zeros = logprobs.map(() => 0);
      const evaluated = evaluateLoss(
        { name: 'reinforce', kl: { coefficient: 1, estimator } },
        { logprobs, oldLogprobs: logprobs, referenceLogprobs, advantages: zeros },
      );
      value.forEach((expected, t) => expect(evaluated.loss[t]).toBeCloseTo(expected, 9));
      gradient.forEach((expected, t) => expect(evaluated.gradient[t]).toBeCloseTo(expected, 9));
    });
  },
);

describe.each(verlVectors.valueLosses.cases)('the value loss, clipped at $clip', ({ clip, ...expected }) => {
  it('has the loss, gradient and clip fraction of verl', () => {
    const { values, oldValues, returns } = verlVectors.valueLosses.batch;
    const tape = new Float64Tape([values.length]);
    const inputs = {
      values: tape.input(values),
      oldValues: tape.input(oldValues),
      returns: tape.input(returns),
    };
    const { loss, metrics } = valueLoss(tape, inputs, { name: 'value-clip', clip });
    tape.backward(loss);
    const mean = (numbers: Float64Array): number => numbers.reduce((a, b) => a + b, 0) / numbers.length;
    expect(mean(loss.values)).toBeCloseTo(expected.loss, 9);
    expect(mean(metrics['value/clip_fraction']!.values)).toBeCloseTo(expected.clipFraction, 8);
    expected.gradient.forEach((gradient, t) =>
      expect(inputs.values.gradients[t]! / values.length).toBeCloseTo(gradient, 9),
    );
  });
});
