import { beforeAll, describe, expect, it } from 'vitest';
import { flatWeights, plainSampling, randomPrompts } from '../../tests/fixtures/generation.ts';
import { tinyConfig } from '../../tests/fixtures/tiny-model.ts';
import type { Completion, GenerationRequest, Sampling } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { Generator } from './generator.ts';
import { Scorer } from './scorer.ts';
import type { Tensor } from './session.ts';
import { weightTensors } from './weight-tensors.ts';
import { weightsLayout } from './weights-layout.ts';

type Prompts = GenerationRequest['prompts'];
type Weights = Record<string, Tensor>;

async function weightsOf(config: DecoderConfig, seed = 1): Promise<Weights> {
  return weightTensors(weightsLayout(config), await flatWeights(config, seed));
}

/** Completions by `nameOf(prompt, sample)`, each as text that holds every bit of ids and log-probs. */
async function generate(
  generator: Generator,
  weights: Weights,
  prompts: Prompts,
  nameOf = (prompt: number, sample: number) => `${prompt}/${sample}`,
  sampling: Sampling = plainSampling,
): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  await generator.generate(weights, { weights: '', prompts, sampling }, (completions) => {
    for (const { prompt, sample, ...rest } of completions) {
      texts.set(nameOf(prompt, sample), JSON.stringify(rest));
    }
  });
  return texts;
}

function merged(parts: Map<string, string>[]): Map<string, string> {
  return new Map(parts.flatMap((part) => [...part]));
}

describe('a sample depends only on weights, prompt, seed and sampling', () => {
  // Slots below and above the model's widths, at widths where the runtime's own choice of blocks would differ between slots.
  const wide = { ...tinyConfig, hiddenSize: 64, feedForwardSize: 512, heads: 8, kvHeads: 4 };
  it.each([
    { name: 'few slots', config: tinyConfig, slots: 3, threads: 1 },
    { name: 'more slots than the hidden size', config: wide, slots: 80, threads: 2 },
    { name: 'as many slots as the hidden size', config: wide, slots: 64, threads: 3 },
  ])(
    '$name: the same bytes in any order, company and part of a group',
    async ({ config, slots, threads }) => {
      const weights = await weightsOf(config);
      const generator = new Generator(config, { slots, threads });
      const count = Math.ceil(slots * 0.7);
      const prompts = randomPrompts(config, { count, samples: 2, longest: 20 });
      const all = await generate(generator, weights, prompts);
      expect(all.size).toBe(2 * count);

      const reversed = [...prompts].reverse();
      const cut = Math.floor(count / 3);
      const together = merged(
        await Promise.all([
          generate(generator, weights, reversed.slice(0, cut), (p, s) => `${count - 1 - p}/${s}`),
          generate(generator, weights, reversed.slice(cut), (p, s) => `${count - 1 - cut - p}/${s}`),
        ]),
      );
      expect(together).toEqual(all);

      for (const prompt of [0, count - 1]) {
        const { ids, seeds } = prompts[prompt]!;
        const alone = await generate(generator, weights, [{ ids, seeds: [seeds[1]!] }]);
        expect(alone.get('0/0')).toBe(all.get(`${prompt}/1`));
      }
    },
  );

  it('a longer cache, grown under running sequences, changes nothing', async () => {
    const weights = await weightsOf(tinyConfig);
    const prompts = randomPrompts(tinyConfig, { count: 4, samples: 2, longest: 10 });
    const fresh = await generate(new Generator(tinyConfig, { slots: 4, threads: 1 }), weights, prompts);
    const generator = new Generator(tinyConfig, { slots: 4, threads: 1 });
    const long = { ...plainSampling, maxNewTokens: 100, stopIds: [] };
    const [beside] = await Promise.all([
      generate(generator, weights, prompts),
      generate(generator, weights, prompts.slice(0, 1), undefined, long),
    ]);
    expect(beside).toEqual(fresh);
  });
});

describe('generation', () => {
  let weights: Weights;
  beforeAll(async () => {
    weights = await weightsOf(tinyConfig);
  });

  it('gives the log-probs that the scoring graph gives for the same tokens', async () => {
    const generator = new Generator(tinyConfig, { slots: 8, threads: 1 });
    const prompts = randomPrompts(tinyConfig, { count: 12, samples: 2, longest: 20 });
    const temperature = 0.8;
    const completions: Completion[] = [];
    const sampling = { ...plainSampling, temperature, maxNewTokens: 12 };
    await generator.generate(weights, { weights: '', prompts, sampling }, (some) =>
      completions.push(...some),
    );
    const rows = completions.map(({ prompt, ids }) => ({ prompt: prompts[prompt]!.ids, ids }));
    const scored = new Scorer(tinyConfig, { threads: 1, tokenLimit: 4096 }).score(
      weightTensors(weightsLayout(tinyConfig), await flatWeights(tinyConfig)),
      {
        ids: Int32Array.from(rows.flatMap(({ prompt, ids }) => [...prompt, ...ids])),
        rowLengths: Int32Array.from(rows, ({ prompt, ids }) => prompt.length + ids.length),
        trained: Uint8Array.from(
          rows.flatMap(({ prompt, ids }) => [...prompt.map(() => 0), ...ids.map(() => 1)]),
        ),
      },
      temperature,
    );
    const expected = rows.flatMap(({ prompt }, i) => [...prompt.map(() => 0), ...completions[i]!.logprobs]);
    const gaps = expected
      .map((logprob, t) => Math.abs(logprob - scored[t]!))
      .filter((_, t) => expected[t] !== 0);
    gaps.sort((a, b) => a - b);
    expect(gaps.length).toBeGreaterThan(100);
    expect(gaps.at(-1)).toBeLessThan(1e-4);
    expect(gaps[gaps.length >> 1]).toBeLessThan(1e-6);
  });

  it('ends a response with its stop token, or at the limit', async () => {
    const generator = new Generator(tinyConfig, { slots: 8, threads: 1 });
    const prompts = randomPrompts(tinyConfig, { count: 6, samples: 4, longest: 5 });
    const stopIds = Array.from({ length: 40 }, (_, i) => i * 5);
    const sampling = { ...plainSampling, maxNewTokens: 4, stopIds };
    const finishes = new Set<string>();
    await generator.generate(weights, { weights: '', prompts, sampling }, (completions) => {
      for (const { ids, logprobs, finish } of completions) {
        finishes.add(finish);
        expect(logprobs.length).toBe(ids.length);
        expect(ids.slice(0, -1).some((id) => stopIds.includes(id))).toBe(false);
        expect(stopIds.includes(ids.at(-1)!)).toBe(finish === 'stop');
        if (finish === 'length') expect(ids.length).toBe(4);
      }
    });
    expect([...finishes].sort()).toEqual(['length', 'stop']);
  });

  it('greedy choice ignores seeds', async () => {
    const generator = new Generator(tinyConfig, { slots: 4, threads: 1 });
    const prompts = randomPrompts(tinyConfig, { count: 2, samples: 2, longest: 9 });
    const greedy = { ...plainSampling, temperature: 0 };
    const texts = await generate(generator, weights, prompts, undefined, greedy);
    expect(texts.get('0/0')).toBe(texts.get('0/1'));
    expect(texts.get('1/0')).toBe(texts.get('1/1'));
  });

  it('serves requests for other weights one after the other, each by its own', async () => {
    const generator = new Generator(tinyConfig, { slots: 4, threads: 1 });
    const other = await weightsOf(tinyConfig, 2);
    const prompts = randomPrompts(tinyConfig, { count: 5, samples: 1, longest: 9 });
    const alone = [await generate(generator, weights, prompts), await generate(generator, other, prompts)];
    const together = await Promise.all([
      generate(generator, weights, prompts),
      generate(generator, other, prompts),
    ]);
    expect(together).toEqual(alone);
    expect(alone[0]).not.toEqual(alone[1]);
  });

  it('an aborted request fails with the reason and leaves the others undisturbed', async () => {
    const generator = new Generator(tinyConfig, { slots: 4, threads: 1 });
    const prompts = randomPrompts(tinyConfig, { count: 6, samples: 2, longest: 9 });
    const expected = await generate(generator, weights, prompts);
    const controller = new AbortController();
    const long = { ...plainSampling, maxNewTokens: 400, stopIds: [] };
    const aborted = generator.generate(
      weights,
      { weights: '', prompts, sampling: long },
      () => {},
      controller.signal,
    );
    const others = generate(generator, weights, prompts);
    setTimeout(() => controller.abort(new Error('enough')), 20);
    await expect(aborted).rejects.toThrow('enough');
    expect(await others).toEqual(expected);
  });

  it('closing fails what is in flight', async () => {
    const generator = new Generator(tinyConfig, { slots: 2, threads: 1 });
    const prompts = randomPrompts(tinyConfig, { count: 2, samples: 2, longest: 9 });
    const pending = generate(generator, weights, prompts);
    const failed = expect(pending).rejects.toThrow('the engine was closed');
    await generator.close();
    await failed;
  });

  it.each([
    [
      'an over-long request',
      { ids: [1, 2], maxNewTokens: 511 },
      /2 tokens; with 511 new tokens .* 512 positions/,
    ],
    ['an empty prompt', { ids: [], maxNewTokens: 4 }, /prompt 0 is empty/],
    ['an id outside the vocabulary', { ids: [272], maxNewTokens: 4 }, /token id 272, expected .* 0 to 271/],
  ])('refuses %s', async (_, { ids, maxNewTokens }, message) => {
    const generator = new Generator(tinyConfig, { slots: 2, threads: 1 });
    const request = {
      weights: '',
      prompts: [{ ids, seeds: [] }],
      sampling: { ...plainSampling, maxNewTokens },
    };
    await expect(generator.generate(weights, request, () => {})).rejects.toThrow(message);
  });

  it('weights with a NaN fail the request instead of producing tokens', async () => {
    const flat = await flatWeights(tinyConfig);
    flat[0] = NaN;
    const broken = weightTensors(weightsLayout(tinyConfig), flat);
    const generator = new Generator(tinyConfig, { slots: 2, threads: 1 });
    const prompts = randomPrompts(tinyConfig, { count: 1, samples: 1, longest: 3 });
    await expect(generate(generator, broken, prompts)).rejects.toThrow(/probabilities sum to NaN/);
  });
});
