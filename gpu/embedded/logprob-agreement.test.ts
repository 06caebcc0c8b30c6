import { expect, it } from 'vitest';
import { integerAt, seedAt } from '../../core/seeds.ts';
import { flatWeights, plainSampling } from '../../tests/fixtures/generation.ts';
import { tinyConfig } from '../../tests/fixtures/tiny-model.ts';
import { logSoftmax, referenceForward } from '../../tests/oracles/reference-forward.ts';
import type { Completion } from '../engine-port.ts';
import { Generator } from './generator.ts';
import { Scorer } from './scorer.ts';
import { weightTensors } from './weight-tensors.ts';
import { FINAL_NORM, weightsLayout } from './weights-layout.ts';

/**
 * A policy as sharp as one trained to the end, asked for tokens that it all but excludes: rounding shows in the logits, in
 * proportion to their size, and is not made worse on the way to log-probs.
 */
it('generation, training and a float64 reference agree on tokens that a sharp policy finds unlikely', async () => {
  const flat = await flatWeights(tinyConfig);
  const layout = weightsLayout(tinyConfig);
  const gain = layout.tensors.find(({ name }) => name === FINAL_NORM)!;
  for (let i = 0; i < gain.length; i++) flat[gain.offset + i]! *= 3;
  const weights = weightTensors(layout, flat);
  const seed = seedAt(2, 'generatedTask');
  const ids = Array.from({ length: 80 }, (_, i) => integerAt(seed, i, tinyConfig.vocabSize));

  const generator = new Generator(tinyConfig, { slots: 1, threads: 1 });
  const completions: Completion[] = [];
  const request = {
    weights: '',
    prompts: [{ ids, seeds: [seed] }],
    sampling: { ...plainSampling, maxNewTokens: 1 },
    report: { promptLogprobs: true },
  };
  await generator.generate(weights, request, (some) => completions.push(...some));
  const generated = completions[0]!.promptLogprobs!;
  const rows = {
    ids: Int32Array.from(ids),
    rowLengths: Int32Array.of(ids.length),
    trained: new Uint8Array(ids.length).fill(1, 1),
  };
  const trained = [...new Scorer(tinyConfig, { threads: 1 }).score(weights, rows, 1)].slice(1);
  const tensors = new Map(
    layout.huggingFace.map(({ name, shape, offset, length }) => [
      name,
      { shape, data: flat.subarray(offset, offset + length) },
    ]),
  );
  const logitsTV = referenceForward(tinyConfig, tensors, ids);
  const exact = ids.slice(1).map((id, t) => logSoftmax(logitsTV[t]!)[id]!);
  const size = Math.max(...logitsTV.flatMap((logits) => [...logits].map(Math.abs)));
  expect(Math.min(...exact)).toBeLessThan(-60);

  const farthest = (a: number[], b: number[]) => Math.max(...a.map((x, i) => Math.abs(x - b[i]!)));
  expect(farthest(generated, trained)).toBeLessThan(Math.min(1e-4, 1e-6 * size));
  expect(farthest(generated, exact)).toBeLessThan(1e-6 * size);
  expect(farthest(trained, exact)).toBeLessThan(1e-6 * size);
});
