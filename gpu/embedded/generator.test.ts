import { beforeAll, describe, expect, it } from 'vitest';
import { flatWeights, plainSampling, randomPrompts } from '../../tests/fixtures/generation.ts';
import { tinyConfig } from '../../tests/fixtures/tiny-model.ts';
import type { Completion, GenerationRequest, Sampling } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { Generator } from './generator.ts';
import { Scorer } from './scorer.ts';
import type { HostTensor } from './session.ts';
import { weightTensors } from './weight-tensors.ts';
import { FINAL_NORM, weightsLayout } from './weights-layout.ts';

type Prompts = GenerationRequest['prompts'];
type Weights = Record<string, HostTensor>;

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
  it('the same bytes on any slots and threads, in any order, company and part of a group', async () => {
    const weights = await weightsOf(tinyConfig);
    const count = 6;
    const prompts = randomPrompts(tinyConfig, { count, samples: 2, longest: 20 });
    const all = await generate(new Generator(tinyConfig, { slots: 3, threads: 1 }), weights, prompts);
    expect(all.size).toBe(2 * count);
    for (const [slots, threads] of [
      [1, 2],
      [5, 2],
      [64, 1],
    ] as const) {
      const generator = new Generator(tinyConfig, { slots, threads });
      const reversed = [...prompts].reverse();
      const together = merged(
        await Promise.all([
          generate(generator, weights, reversed.slice(0, 2), (p, s) => `${count - 1 - p}/${s}`),
          generate(generator, weights, reversed.slice(2), (p, s) => `${count - 3 - p}/${s}`),
        ]),
      );
      expect(together).toEqual(all);
      for (const prompt of [0, count - 1]) {
        const { ids, seeds } = prompts[prompt]!;
        const alone = await generate(generator, weights, [{ ids, seeds: [seeds[1]!] }]);
        expect(alone.get('0/0')).toBe(all.get(`${prompt}/1`));
      }
      await generator.close();
    }
  });

  it.each([
    ['two heads a key', tinyConfig],
    ['one head a key', { ...tinyConfig, kvHeads: 4 }],
  ])(
    'turns of a conversation reuse what came before, in every bit as if each were new: %s',
    async (_, config) => {
      const weights = await weightsOf(config);
      const system = randomPrompts(config, { count: 1, samples: 1, longest: 1 })[0]!;
      const opening = Array.from({ length: 90 }, (_, i) => (i * 37) % config.vocabSize);
      const sampling = { ...plainSampling, stopIds: [], maxNewTokens: 30 };
      const generator = new Generator(config, { slots: 2, threads: 1 });
      let ids = opening;
      for (let turn = 0; turn < 4; turn++) {
        const prompts = [{ ids, seeds: system.seeds }];
        const completions: Completion[] = [];
        await generator.generate(weights, { weights: '', prompts, sampling }, (some) =>
          completions.push(...some),
        );
        const fresh = new Generator(config, { slots: 4, threads: 1 });
        const afresh: Completion[] = [];
        await fresh.generate(weights, { weights: '', prompts, sampling }, (some) => afresh.push(...some));
        await fresh.close();
        expect(completions).toEqual(afresh);
        // What a tool answers, or another user's message in the same conversation.
        ids = [...ids, ...completions[0]!.ids, 5, 6, 7 + turn];
        if (turn === 2) ids = [...opening, 9, 9, 9];
      }
      expect(generator.cacheBytes).toBeGreaterThan(0);
      await generator.close();
    },
  );

  it.each([16, 160])(
    'a longer cache, grown under running sequences, changes nothing: head size %i',
    async (headSize) => {
      const config = { ...tinyConfig, headSize };
      const weights = await weightsOf(config);
      const prompts = randomPrompts(config, { count: 4, samples: 2, longest: 10 });
      const fresh = await generate(new Generator(config, { slots: 4, threads: 1 }), weights, prompts);
      const generator = new Generator(config, { slots: 4, threads: 1 });
      const long = { ...plainSampling, maxNewTokens: 100, stopIds: [] };
      const ids = Array.from({ length: 70 }, (_, i) => i);
      const [, beside] = await Promise.all([
        generate(generator, weights, [{ ids, seeds: prompts[0]!.seeds.slice(1) }], undefined, long),
        generate(generator, weights, prompts),
      ]);
      expect(beside).toEqual(fresh);
    },
  );
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

  it('an abort completes the samples with what there is, where the request asks for that', async () => {
    const generator = new Generator(tinyConfig, { slots: 4, threads: 1 });
    const prompts = randomPrompts(tinyConfig, { count: 3, samples: 2, longest: 9 });
    const sampling = { ...plainSampling, maxNewTokens: 400, stopIds: [] };
    const whole: Completion[] = [];
    await generator.generate(weights, { weights: '', prompts, sampling }, (some) => whole.push(...some));
    const controller = new AbortController();
    const partial: Completion[] = [];
    let steps = 0;
    await generator.generate(
      weights,
      { weights: '', prompts, sampling, onAbort: 'complete' },
      (some) => partial.push(...some),
      controller.signal,
      () => {
        if (++steps === 7) setImmediate(() => controller.abort());
      },
    );
    expect(partial.map(({ finish }) => finish)).toEqual(new Array(6).fill('abort'));
    expect(new Set(partial.map(({ prompt, sample }) => `${prompt}/${sample}`)).size).toBe(6);
    expect(partial.map(({ ids }) => ids.length).sort((a, b) => b - a)[0]).toBeGreaterThanOrEqual(7);
    for (const { prompt, sample, ids } of partial) {
      const { ids: all } = whole.find((one) => one.prompt === prompt && one.sample === sample)!;
      expect(ids).toEqual(all.slice(0, ids.length));
    }
  });

  it('streams every token once, with what the completion then holds', async () => {
    const generator = new Generator(tinyConfig, { slots: 4, threads: 1 });
    const prompts = randomPrompts(tinyConfig, { count: 3, samples: 2, longest: 9 });
    const report = { samplingLogprobs: true, untemperedLogprobs: true, topLogprobs: 3, promptLogprobs: true };
    const sampling = { ...plainSampling, temperature: 0.6, topK: 20 };
    const streamed = new Map<string, { ids: number[]; logprobs: number[] }>();
    const completions: Completion[] = [];
    await generator.generate(
      weights,
      { weights: '', prompts, sampling, report },
      (some) => completions.push(...some),
      undefined,
      (deltas) => {
        for (const { prompt, sample, ids, logprobs } of deltas) {
          const soFar = streamed.get(`${prompt}/${sample}`) ?? { ids: [], logprobs: [] };
          soFar.ids.push(...ids);
          soFar.logprobs.push(...logprobs);
          streamed.set(`${prompt}/${sample}`, soFar);
        }
      },
    );
    for (const completion of completions) {
      const { prompt, sample, ids, logprobs, promptLogprobs } = completion;
      expect(streamed.get(`${prompt}/${sample}`)).toEqual({ ids, logprobs });
      expect(promptLogprobs!.length).toBe(prompts[prompt]!.ids.length - 1);
      completion.topLogprobs!.forEach((top, i) => {
        expect(top.length).toBe(3);
        const chosen = top.find(({ id }) => id === ids[i]);
        if (chosen) expect(chosen.logprob).toBe(completion.untemperedLogprobs![i]);
        expect(completion.samplingLogprobs![i]).toBeGreaterThanOrEqual(logprobs[i]!);
      });
    }
    const plain: Completion[] = [];
    await generator.generate(weights, { weights: '', prompts, sampling }, (some) => plain.push(...some));
    const bare = ({ prompt, sample, ids, logprobs, finish }: Completion) => ({
      prompt,
      sample,
      ids,
      logprobs,
      finish,
    });
    expect(plain.map(bare)).toEqual(completions.map(bare));
  });

  it('prompt log-probs are those that the scoring graph gives', async () => {
    const generator = new Generator(tinyConfig, { slots: 2, threads: 1 });
    const ids = Array.from({ length: 70 }, (_, i) => (i * 31) % tinyConfig.vocabSize);
    const sampling = { ...plainSampling, temperature: 0.5, maxNewTokens: 1 };
    const request = {
      weights: '',
      prompts: [{ ids, seeds: [[1, 2] as const] }],
      sampling,
      report: { promptLogprobs: true },
    };
    const completions: Completion[] = [];
    await generator.generate(weights, request, (some) => completions.push(...some));
    const rows = {
      ids: Int32Array.from(ids),
      rowLengths: Int32Array.of(70),
      trained: new Uint8Array(70).fill(1, 1),
    };
    const scored = new Scorer(tinyConfig, { threads: 1 }).score(weights, rows, 1);
    completions[0]!.promptLogprobs!.forEach((logprob, i) => expect(logprob).toBeCloseTo(scored[i + 1]!, 5));
  });

  it('ends with the token that completes a stop string, also one that spans tokens', async () => {
    const tokenizer = {
      decode: (ids: readonly number[]) => ids.map((id) => String.fromCharCode(97 + (id % 7))).join(''),
    };
    const generator = new Generator(tinyConfig, { slots: 4, threads: 1, tokenizer });
    const prompts = randomPrompts(tinyConfig, { count: 4, samples: 4, longest: 5 });
    const stopStrings = ['ab', 'cde', 'g'];
    const sampling = { ...plainSampling, stopIds: [], stopStrings, maxNewTokens: 12 };
    const finishes = new Set<string>();
    await generator.generate(weights, { weights: '', prompts, sampling }, (completions) => {
      for (const { ids, finish } of completions) {
        finishes.add(finish);
        const ends = (text: string) => stopStrings.some((stop) => text.includes(stop));
        expect(ends(tokenizer.decode(ids))).toBe(finish === 'stop');
        expect(ends(tokenizer.decode(ids.slice(0, -1)))).toBe(false);
      }
    });
    expect([...finishes]).toContain('stop');
    const without = new Generator(tinyConfig, { slots: 1, threads: 1 });
    await expect(without.generate(weights, { weights: '', prompts, sampling }, () => {})).rejects.toThrow(
      /stop strings need a tokenizer/,
    );
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

  it('weights that the runtime refuses fail their own request only', async () => {
    const generator = new Generator(tinyConfig, { slots: 2, threads: 1 });
    const prompts = randomPrompts(tinyConfig, { count: 1, samples: 1, longest: 3 });
    const { [FINAL_NORM]: _, ...incomplete } = weights;
    const before = await generate(generator, weights, prompts);
    await expect(generate(generator, incomplete, prompts)).rejects.toThrow(/graph "forward"/);
    expect(await generate(generator, weights, prompts)).toEqual(before);
  });
});
