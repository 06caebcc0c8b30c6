import fc from 'fast-check';
import { expect, it } from 'vitest';
import { resumedSeed, seedAt, uniformAt, type Seed } from '../../core/seeds.ts';
import type { Engine, Sampling } from '../../gpu/engine-port.ts';
import { PolicySampler } from './policy-sampler.ts';

const sampling: Sampling = { temperature: 1, topK: 0, topP: 1, maxNewTokens: 40, stopIds: [] };
const policyOf = (version: number) => ({
  version,
  weights: { hash: `w${version}`, size: 1, mediaType: 'application/octet-stream' },
});

/** The token that a policy samples at a position of a seed's stream: what tells who sampled it, and with which number. */
const tokenOf = (weights: string, seed: Seed, position: number): number =>
  Math.floor(uniformAt(seed, position) * 1000) * 100 + Number(weights.slice(1));

/** Samples one token each millisecond; when aborted, completes what is there. */
function slowEngine(): Pick<Engine, 'generate'> {
  return {
    async generate({ weights, prompts, sampling: { maxNewTokens } }, onCompletions, signal) {
      for (const [prompt, { seeds }] of prompts.entries()) {
        for (const [sample, seed] of seeds.entries()) {
          const ids: number[] = [];
          while (ids.length < maxNewTokens && signal?.aborted !== true) {
            ids.push(tokenOf(weights, seed, ids.length));
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
          const finish = ids.length === maxNewTokens ? 'length' : 'abort';
          onCompletions([{ prompt, sample, ids, logprobs: ids.map(() => -1), finish }]);
        }
      }
    },
  };
}

const samplerOf = (signal = new AbortController().signal) =>
  new PolicySampler({ engine: slowEngine(), sampling, policy: policyOf(1), signal });
const seed = seedAt(1, 'rollout', 1);

it('a response that newer policies interrupt is the tokens of each, one after another, with numbers of their own', async () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(pauses, async (delays) => {
      const sampler = samplerOf();
      const sampled = sampler.sample([7], seed);
      for (const [i, delay] of delays.entries()) {
        await new Promise((resolve) => setTimeout(resolve, delay));
        sampler.use(policyOf(i + 2));
      }
      const { responseIds, logprobs, spans, finish } = await sampled;
      expect([responseIds.length, logprobs.length, finish]).toEqual([40, 40, 'length']);
      expect(spans.map(({ version }) => version)).toEqual(
        spans.map(({ version }) => version).toSorted((a, b) => a - b),
      );
      let at = 0;
      for (const { version, tokens } of spans) {
        const own = at === 0 ? seed : resumedSeed(seed, at);
        const expected = Array.from({ length: tokens }, (_, i) => tokenOf(`w${version}`, own, i));
        expect(responseIds.slice(at, at + tokens)).toEqual(expected);
        at += tokens;
      }
      expect(at).toBe(40);
    }),
    { numRuns: 20 },
  );
});

it('when time is up a response ends as it is, and goes on from there when it is asked for again', async () => {
  const first = samplerOf();
  const sampled = first.sample([7], seed);
  await new Promise((resolve) => setTimeout(resolve, 10));
  first.end();
  const begun = await sampled;
  expect(begun.finish).toBe('abort');
  expect(begun.responseIds.length).toBeGreaterThan(0);
  expect(await first.sample([8], seed)).toMatchObject({ responseIds: [], finish: 'abort' });

  const whole = await samplerOf().sample([7], seed, begun);
  expect(whole.finish).toBe('length');
  expect(whole.responseIds.slice(0, begun.responseIds.length)).toEqual(begun.responseIds);
  expect(whole.responseIds).toHaveLength(40);
  expect(whole.spans).toEqual([{ version: 1, tokens: 40 }]);
});

it('an abort of the whole rejects', async () => {
  const abort = new AbortController();
  const sampled = samplerOf(abort.signal).sample([7], seed);
  setTimeout(() => abort.abort(new Error('cancelled')), 5);
  await expect(sampled).rejects.toThrow('cancelled');
});
