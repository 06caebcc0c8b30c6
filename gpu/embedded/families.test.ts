import { describe, expect, it } from 'vitest';
import { plainSampling, randomPrompts } from '../../tests/fixtures/generation.ts';
import { randomWeights, tinyFamilies } from '../../tests/fixtures/tiny-families.ts';
import type { Completion } from '../engine-port.ts';
import { Generator } from './generator.ts';
import { Scorer } from './scorer.ts';
import { weightTensors } from './weight-tensors.ts';
import { weightsLayout } from './weights-layout.ts';

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
      const scored = scorer.score(weights, rows, 1);
      return logprobs.map((logprob, i) => Math.abs(logprob - scored[row.length - ids.length + i]!));
    });
    scorer.close();
    differences.sort((a, b) => a - b);
    expect(differences).toHaveLength(128);
    expect(differences.at(-1)).toBeLessThanOrEqual(1e-4);
    expect(differences[differences.length >> 1]).toBeLessThanOrEqual(1e-6);
  });
});
