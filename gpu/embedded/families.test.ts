import { describe, expect, it } from 'vitest';
import type { TokenLossSettings } from '../../core/loss/settings.ts';
import { plainSampling, randomPrompts } from '../../tests/fixtures/generation.ts';
import { randomWeights, tinyFamilies } from '../../tests/fixtures/tiny-families.ts';
import { randomBatch, uniform } from '../../tests/fixtures/training.ts';
import { referenceLoss } from '../../tests/oracles/reference-loss.ts';
import type { Completion, GenerationRequest } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { Generator, type GeneratorOptions } from './generator.ts';
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

type Prompts = GenerationRequest['prompts'];

/** Sampled completions of each prompt, in the order of prompts and seeds. */
async function generated(config: DecoderConfig, options: GeneratorOptions, requests: Prompts[]) {
  const weights = weightTensors(weightsLayout(config), randomWeights(config));
  const generator = new Generator(config, options);
  const sampling = { ...plainSampling, maxNewTokens: 16, stopIds: [] };
  const completions: Completion[] = [];
  for (const prompts of requests) {
    const finished: Completion[] = [];
    await generator.generate(weights, { weights: 'random', prompts, sampling }, (some) =>
      finished.push(...some),
    );
    finished.sort((a, b) => a.prompt - b.prompt || a.sample - b.sample);
    completions.push(...finished);
  }
  await generator.close();
  return completions;
}

describe.each(Object.entries(tinyFamilies))('%s', (_, config) => {
  const prompts = randomPrompts(config, { count: 4, samples: 2, longest: 20 });

  it('generates tokens with the log-probs that it scores for them', async () => {
    const weights = weightTensors(weightsLayout(config), randomWeights(config));
    const completions = await generated(config, { threads: 1, slots: 4 }, [prompts]);
    const scorer = new Scorer(config, { threads: 1 });
    const differences = completions.flatMap(({ prompt, ids, logprobs }) => {
      const row = [...prompts[prompt]!.ids, ...ids];
      const trained = Uint8Array.from(row, (_, i) => Number(i >= prompts[prompt]!.ids.length));
      const rows = { ids: Int32Array.from(row), rowLengths: Int32Array.of(row.length), trained };
      const scored = scorer.score(weights, rows, 1);
      return logprobs.map((logprob, i) => Math.abs(logprob - scored[row.length - ids.length + i]!));
    });
    scorer.close();
    differences.sort((a, b) => a - b);
    expect(differences).toHaveLength(128);
    expect(differences.at(-1)).toBeLessThanOrEqual(1e-4);
    expect(differences[differences.length >> 1]).toBeLessThanOrEqual(1e-6);
  });

  it('generates the same bits for a prompt alone, in company and on more threads', async () => {
    const plain = ({ ids, logprobs }: Completion) => ({ ids, logprobs });
    const together = (await generated(config, { threads: 2, slots: 4 }, [prompts])).map(plain);
    const alone = await generated(
      config,
      { threads: 1, slots: 4 },
      prompts.map((prompt) => [prompt]),
    );
    expect(alone.map(plain)).toEqual(together);
  });

  it('has the same gradients, in every bit, on 1 and 2 threads', () => {
    const gradientsOn = (threads: number): Float32Array => {
      const trainer = new Trainer(config, { threads });
      trainer.beginUpdate(randomWeights(config), null, 0);
      trainer.forwardBackward(randomBatch(config, [60, 31, 60, 44, 60]), ppoClip, temperature);
      return trainer.gradients;
    };
    expect(gradientsOn(2)).toEqual(gradientsOn(1));
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
