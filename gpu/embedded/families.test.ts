import { describe, expect, it } from 'vitest';
import type { TokenLossSettings } from '../../core/loss/settings.ts';
import { plainSampling, randomPrompts } from '../../tests/fixtures/generation.ts';
import { randomWeights, tinyFamilies } from '../../tests/fixtures/tiny-families.ts';
import { randomBatch, uniform } from '../../tests/fixtures/training.ts';
import { referenceLoss } from '../../tests/oracles/reference-loss.ts';
import type { Completion } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { Generator } from './generator.ts';
import { Scorer } from './scorer.ts';
import { Trainer } from './trainer.ts';
import { weightTensors } from './weight-tensors.ts';
import { weightsLayout } from './weights-layout.ts';

const ppoClip: TokenLossSettings = {
  name: 'ppo-clip',
  clipLow: 0.2,
  clipHigh: 0.2,
  kl: { coefficient: 0.1, estimator: 'k3' },
};
const temperature = 0.8;
/** Longer than every window and than the original context of the scaled rotary encodings. */
const batch = (config: DecoderConfig) => randomBatch(config, [18, 2, 11]);

const norm = (values: Float32Array): number =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
const unit = (values: Float32Array): Float32Array => {
  const length = norm(values);
  return values.map((value) => value / length);
};

describe.each(Object.entries(tinyFamilies))('%s', (_, config) => {
  it('generates tokens with the log-probs that it scores for them', async () => {
    const weights = randomWeights(config);
    const prompts = randomPrompts(config, { count: 4, samples: 2, longest: 20 });
    const generator = new Generator(config, { threads: 1, slots: 4 });
    const completions: Completion[] = [];
    const sampling = { ...plainSampling, maxNewTokens: 16, stopIds: [] };
    await generator.generate(
      weightTensors(weightsLayout(config), weights),
      { weights: 'random', prompts, sampling },
      (finished) => completions.push(...finished),
    );
    await generator.close();
    const scorer = new Scorer(config, { threads: 1 });
    const differences = completions.flatMap(({ prompt, ids, logprobs }) => {
      const row = [...prompts[prompt]!.ids, ...ids];
      const trained = Uint8Array.from(row, (_, i) => Number(i >= prompts[prompt]!.ids.length));
      const rows = { ids: Int32Array.from(row), rowLengths: Int32Array.of(row.length), trained };
      const scored = scorer.score(weightTensors(weightsLayout(config), weights), rows, 1);
      return logprobs.map((logprob, i) => Math.abs(logprob - scored[row.length - ids.length + i]!));
    });
    scorer.close();
    differences.sort((a, b) => a - b);
    expect(differences).toHaveLength(128);
    expect(differences.at(-1)).toBeLessThanOrEqual(1e-4);
    expect(differences[differences.length >> 1]).toBeLessThanOrEqual(1e-6);
  });

  it('has the loss and gradients of the float64 oracle, in a direction of every tensor', () => {
    const trainer = new Trainer(config, { threads: 1 });
    const weights = randomWeights(config);
    trainer.beginUpdate(weights, null, 0);
    const rows = batch(config);
    const result = trainer.forwardBackward(rows, ppoClip, temperature);
    const lossAt = (moved: Float32Array): number =>
      referenceLoss(config, moved, rows, ppoClip, temperature).loss;
    expect(Math.abs(result.loss / lossAt(weights) - 1)).toBeLessThan(1e-5);
    for (const [index, { name, offset, length }] of weightsLayout(config).huggingFace.entries()) {
      const gradient = trainer.gradients.subarray(offset, offset + length);
      // Half along the gradient, so that the slope is of the gradient's size; half anywhere.
      const [along, anywhere] = [unit(gradient), unit(uniform(length, 100 + index))];
      const move = (by: number): Float32Array => {
        const moved = weights.slice();
        along.forEach((x, i) => (moved[offset + i]! += by * (x + anywhere[i]!)));
        return moved;
      };
      const [up, down] = [move(1e-4), move(-1e-4)];
      const measured = lossAt(up) - lossAt(down);
      const predicted = gradient.reduce((sum, g, i) => sum + g * (up[offset + i]! - down[offset + i]!), 0);
      expect(Math.abs(measured / predicted - 1), name).toBeLessThan(1e-4);
    }
  });
});
