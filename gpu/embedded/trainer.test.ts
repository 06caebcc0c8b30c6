import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { TokenLossSettings } from '../../core/loss/settings.ts';
import { randomBatch, uniform } from '../../tests/fixtures/training.ts';
import { referenceLoss } from '../../tests/oracles/reference-loss.ts';
import type { RowBatch, StepSettings } from '../engine-port.ts';
import { plainLlama, type DecoderConfig } from '../model/decoder-config.ts';
import { Scorer } from './scorer.ts';
import { Trainer, type TrainerOptions } from './trainer.ts';
import { weightsLayout } from './weights-layout.ts';

const groupedQueries: DecoderConfig = {
  ...plainLlama,
  vocabSize: 23,
  hiddenSize: 24,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headSize: 8,
  feedForwardSize: 40,
  ropeTheta: 100,
  normEpsilon: 1e-5,
  maxPositions: 16,
};
const plainHeads: DecoderConfig = { ...groupedQueries, layers: 1, kvHeads: 4 };
const clipped: TokenLossSettings = {
  name: 'ppo-clip',
  clipLow: 0.2,
  clipHigh: 0.2,
  kl: { coefficient: 0.1, estimator: 'k3' },
};
const crossEntropy: TokenLossSettings = { name: 'cross-entropy' };
const stepSettings: StepSettings = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0.01,
  gradientClip: 1,
};
const options: TrainerOptions = { threads: 1 };
const temperature = 0.8;

function randomWeights(config: DecoderConfig): Float32Array {
  const { parameters, matrixParameters } = weightsLayout(config);
  return uniform(parameters, 1).map((w, i) => (i < matrixParameters ? w : 1 + w));
}

function trainerWith(config: DecoderConfig, changes: Partial<TrainerOptions> = {}): Trainer {
  const trainer = new Trainer(config, { ...options, ...changes });
  trainer.beginUpdate(randomWeights(config), null, 0);
  return trainer;
}

function norm(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
}

function relativeDifference(a: Float32Array, b: Float32Array): number {
  return norm(a.map((value, i) => value - b[i]!)) / norm(b);
}

/** Two updates of two microbatches each; the bytes of the weights after them. */
function trainedBytes(changes: Partial<TrainerOptions>): string {
  const trainer = trainerWith(groupedQueries, changes);
  for (let step = 0; step < 2; step++) {
    for (const stream of [20, 40]) {
      trainer.forwardBackward(randomBatch(groupedQueries, [7, 3, 9, 5], stream + step), clipped, temperature);
    }
    trainer.optimizerStep(stepSettings);
  }
  const bytes = Buffer.from(trainer.weights.slice().buffer).toString('base64');
  trainer.close();
  return bytes;
}

describe.each([
  { name: 'grouped queries, clipped loss with KL', config: groupedQueries, loss: clipped },
  { name: 'grouped queries, cross-entropy', config: groupedQueries, loss: crossEntropy },
  { name: 'one key head a query head, clipped loss', config: plainHeads, loss: clipped },
])('forwardBackward ($name)', ({ config, loss }) => {
  const batch = randomBatch(config, [6, 2, 9, 1, 4]);
  const trainer = trainerWith(config);
  const result = trainer.forwardBackward(batch, loss, temperature);
  const weights = trainer.weights.slice();
  const gradients = trainer.gradients.slice();

  it('gives the loss, log-probs, entropy and metrics of the float64 oracle', () => {
    const expected = referenceLoss(config, weights, batch, loss, temperature);
    expect(result.loss).toBeCloseTo(expected.loss, 4);
    expect(result.entropy).toBeCloseTo(expected.entropy, 5);
    expected.logprobs.forEach((logprob, t) => expect(result.logprobs[t]).toBeCloseTo(logprob, 5));
    expect(Object.keys(result.metrics)).toEqual(Object.keys(expected.metrics));
    for (const [name, value] of Object.entries(expected.metrics)) {
      expect(result.metrics[name]).toBeCloseTo(value, 3);
    }
  });

  it('gives gradients that predict the oracle’s loss along random directions of every tensor', () => {
    for (const [index, { name, offset, length }] of weightsLayout(config).huggingFace.entries()) {
      const direction = uniform(length, 100 + index);
      const move = (by: number): Float32Array =>
        weights.map((w, i) => (i >= offset && i < offset + length ? w + by * direction[i - offset]! : w));
      const [up, down] = [move(1e-3), move(-1e-3)];
      const lossAt = (moved: Float32Array): number =>
        referenceLoss(config, moved, batch, loss, temperature).loss;
      const measured = lossAt(up) - lossAt(down);
      const predicted = gradients.reduce((sum, gradient, i) => sum + gradient * (up[i]! - down[i]!), 0);
      const scale = 2e-3 * norm(gradients.subarray(offset, offset + length));
      expect(Math.abs(measured - predicted) / scale, name).toBeLessThan(1e-4);
    }
  });
});

describe('a trainer', () => {
  const batch = randomBatch(groupedQueries, [7, 3, 9, 5]);

  it('adds microbatches up to the gradients of the whole batch', () => {
    const whole = trainerWith(groupedQueries);
    whole.forwardBackward(batch, clipped, temperature);
    const parts = trainerWith(groupedQueries);
    for (const [start, end, lengths] of [
      [0, 10, [7, 3]],
      [10, 24, [9, 5]],
    ] as const) {
      const part: RowBatch = {
        ids: batch.ids.slice(start, end),
        rowLengths: Int32Array.from(lengths),
        trained: batch.trained.slice(start, end),
        weights: batch.weights.slice(start, end),
        advantages: batch.advantages.slice(start, end),
        oldLogprobs: batch.oldLogprobs.slice(start, end),
        referenceLogprobs: batch.referenceLogprobs.slice(start, end),
      };
      parts.forwardBackward(part, clipped, temperature);
    }
    expect(relativeDifference(parts.gradients, whole.gradients)).toBeLessThan(1e-6);
  });

  it('gives the same loss and gradients however rows are cut into rectangles, padded or alone', () => {
    const whole = trainerWith(groupedQueries);
    const alone = trainerWith(groupedQueries, { tokenLimit: 1 });
    const results = [whole, alone].map((trainer) => trainer.forwardBackward(batch, clipped, temperature));
    expect(results[0]!.loss).toBeCloseTo(results[1]!.loss, 5);
    expect(relativeDifference(alone.gradients, whole.gradients)).toBeLessThan(1e-6);
  });

  it('reads nothing of the tokens that are not trained', () => {
    const plain = trainerWith(groupedQueries);
    const poisoned = trainerWith(groupedQueries);
    const poison = (values: Float32Array): Float32Array =>
      values.map((value, t) => (batch.trained[t] === 1 ? value : NaN));
    const dirty = {
      ...batch,
      weights: poison(batch.weights),
      advantages: poison(batch.advantages),
      oldLogprobs: poison(batch.oldLogprobs),
      referenceLogprobs: poison(batch.referenceLogprobs),
    };
    plain.forwardBackward(batch, clipped, temperature);
    poisoned.forwardBackward(dirty, clipped, temperature);
    expect(poisoned.gradients).toEqual(plain.gradients);
  });

  it('has no loss and no gradient for rows without a trained token', () => {
    const trainer = trainerWith(groupedQueries);
    const silent = { ...batch, trained: new Uint8Array(batch.ids.length) };
    const result = trainer.forwardBackward(silent, clipped, temperature);
    expect(result.loss).toBe(0);
    expect(result.entropy).toBe(0);
    expect(norm(trainer.gradients)).toBe(0);
  });

  it('trains to the same bits in every session, on 1 and 2 threads, on either output path', () => {
    const first = trainedBytes({});
    for (const changes of [
      {},
      { threads: 2 },
      { outputPath: 'copy' },
      { outputPath: 'copy', threads: 2 },
    ] as const) {
      expect(trainedBytes(changes)).toBe(first);
    }
  });

  it('trains to the same bits in every process, on 1 and 2 threads', async () => {
    const path = (name: string): string => fileURLToPath(new URL(`../../tests/${name}`, import.meta.url));
    const args = ['--import', path('harness/typescript-loader.mjs'), path('fixtures/train-and-hash.ts')];
    const hash = async (threads: string): Promise<string> =>
      (await promisify(execFile)(process.execPath, [...args, threads])).stdout;
    const first = await hash('1');
    expect(first).toMatch(/^[0-9a-f]{64}\n$/);
    expect(await hash('1')).toBe(first);
    expect(await hash('2')).toBe(first);
  }, 60_000);

  it('goes on from saved weights, moments and step to the same bits', () => {
    const straight = trainerWith(groupedQueries);
    const update = (trainer: Trainer): void => {
      trainer.forwardBackward(batch, clipped, temperature);
      trainer.optimizerStep(stepSettings);
    };
    update(straight);
    const resumed = new Trainer(groupedQueries, options);
    resumed.beginUpdate(straight.weights, straight.moments, straight.step);
    update(straight);
    update(resumed);
    expect(resumed.weights).toEqual(straight.weights);
    expect(resumed.step).toBe(2);
  });

  it('refuses a step from a gradient that is not finite, and goes on afterwards as if it had never been', () => {
    const trainer = trainerWith(groupedQueries);
    const before = trainer.weights.slice();
    trainer.forwardBackward({ ...batch, advantages: batch.advantages.map(() => NaN) }, clipped, temperature);
    expect(trainer.optimizerStep(stepSettings).applied).toBe(false);
    expect(trainer.weights).toEqual(before);
    expect(trainer.step).toBe(0);

    const untouched = trainerWith(groupedQueries);
    for (const each of [trainer, untouched]) {
      each.forwardBackward(batch, clipped, temperature);
      each.optimizerStep(stepSettings);
    }
    expect(trainer.weights).toEqual(untouched.weights);
  });

  it('tells of a step that makes a weight infinite or NaN', () => {
    const trainer = trainerWith(groupedQueries);
    trainer.forwardBackward(batch, clipped, temperature);
    expect(trainer.optimizerStep({ ...stepSettings, learningRate: 1e300 }).applied).toBe(false);
  });

  it('lowers the cross-entropy of a batch that it is trained on', () => {
    const trainer = trainerWith(groupedQueries);
    const losses = Array.from({ length: 20 }, () => {
      const { loss } = trainer.forwardBackward(batch, crossEntropy, 1);
      trainer.optimizerStep(stepSettings);
      return loss;
    });
    expect(losses.at(-1)!).toBeLessThan(losses[0]! / 2);
  });
});

describe('a scorer', () => {
  it('gives the very log-probs of the training graph', () => {
    const batch = randomBatch(groupedQueries, [7, 3, 9, 5]);
    const trainer = trainerWith(groupedQueries);
    const scorer = new Scorer(groupedQueries, options);
    const { logprobs } = trainer.forwardBackward(batch, clipped, temperature);
    expect(scorer.score(trainer.tensors, batch, temperature)).toEqual(logprobs);
  });
});
