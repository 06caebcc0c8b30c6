import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seedAt, uniformAt } from '../../core/seeds.ts';
import { candidateIds } from './candidates.ts';
import { chooseToken as choose, type TokenChoice } from './sampler.ts';
import { blockCount, SAMPLING_BLOCK, stepOutput, type StepOutput } from './step-output.ts';
import { UntemperedLogprobs } from './token-logprobs.ts';

/** A step output with one row for each list of logits, as the graph would write it. */
function outputOf(logitsRows: number[][], temperature = 1): StepOutput {
  const vocabSize = logitsRows[0]!.length;
  const blocks = blockCount(vocabSize);
  const logitsBV = Float32Array.from(logitsRows.flat(), (logit) => logit / temperature);
  const probabilitiesBV = new Float32Array(logitsBV.length);
  const blockSumsBN = new Float32Array(logitsRows.length * blocks);
  logitsRows.forEach((logits, row) => {
    const scaled = logits.map((x) => Math.fround(x / temperature));
    const largest = Math.max(...scaled);
    const exponentials = scaled.map((x) => Math.exp(x - largest));
    const total = exponentials.reduce((a, b) => a + b);
    exponentials.forEach((e, id) => {
      probabilitiesBV[row * vocabSize + id] = e / total;
      blockSumsBN[row * blocks + Math.floor(id / SAMPLING_BLOCK)]! += probabilitiesBV[row * vocabSize + id]!;
    });
  });
  return stepOutput({ vocabSize, logitsBV, probabilitiesBV, blockSumsBN });
}

function chooseToken(
  output: StepOutput,
  row: number,
  rule: Parameters<typeof choose>[1],
  u: number,
): TokenChoice {
  return choose(output.next[row]!, rule, u);
}

const everything = { temperature: 1, topK: 0, topP: 1 };
const uniform = fc.integer({ min: 0, max: 0xffff_ffff }).map((n) => n / 0x1_0000_0000);
const logitsOf = (maxLength: number) =>
  fc.array(fc.double({ min: -200, max: 20, noNaN: true }), { minLength: 1, maxLength });

describe('sampling without restriction', () => {
  it('draws each token with its probability, over a vocabulary that is no multiple of the block', () => {
    const logits = Array.from({ length: 300 }, (_, id) => (id % 37 === 0 ? 4 : -2 + (id % 5)));
    const output = outputOf([logits]);
    const draws = 200_000;
    const counts = new Float64Array(300);
    const seed = seedAt(7, 'rollout');
    for (let i = 0; i < draws; i++) counts[chooseToken(output, 0, everything, uniformAt(seed, i)).id]!++;
    let chiSquare = 0;
    for (let id = 0; id < 300; id++) {
      const expected = draws * output.probabilitiesBV[id]!;
      chiSquare += (counts[id]! - expected) ** 2 / expected;
    }
    // 299 degrees of freedom: mean 299, standard deviation 24.5.
    expect(chiSquare).toBeLessThan(299 + 4 * 24.5);
  });

  it('picks the first id whose cumulative probability exceeds the uniform number, up to rounding', () => {
    fc.assert(
      fc.property(logitsOf(400), uniform, (logits, u) => {
        const output = outputOf([logits]);
        const { id } = chooseToken(output, 0, everything, u);
        let before = 0;
        for (let i = 0; i < id; i++) before += output.probabilitiesBV[i]!;
        expect(u).toBeGreaterThanOrEqual(before - 1e-5);
        expect(u).toBeLessThan(before + output.probabilitiesBV[id]! + 1e-5);
      }),
    );
  });

  it('never chooses a token of probability 0', () => {
    fc.assert(
      fc.property(logitsOf(300), uniform, (logits, u) => {
        const output = outputOf([logits.map((x) => (x < 0 ? -400 : x))]);
        expect(output.probabilitiesBV[chooseToken(output, 0, everything, u).id]).toBeGreaterThan(0);
      }),
    );
  });

  it('reads its own row only', () => {
    const rows = [
      [9, 0, 0],
      [0, 9, 0],
      [0, 0, 9],
    ];
    const output = outputOf(rows);
    expect([0, 1, 2].map((row) => chooseToken(output, row, everything, 0.5).id)).toEqual([0, 1, 2]);
  });

  it('refuses probabilities that are not finite', () => {
    const output = outputOf([[0, 0]]);
    output.blockSumsBN.fill(NaN);
    expect(() => chooseToken(output, 0, everything, 0.5)).toThrow(/sum to NaN, expected about 1/);
  });
});

describe('log-probs', () => {
  const logSumExp = (values: number[]): number => {
    const largest = Math.max(...values);
    return largest + Math.log(values.reduce((sum, x) => sum + Math.exp(x - largest), 0));
  };
  const rules = fc.record({
    temperature: fc.constantFrom(0, 0.3, 1, 1.7),
    topK: fc.integer({ min: 0, max: 60 }),
    topP: fc.constantFrom(1, 0.9, 0.4),
    minP: fc.constantFrom(0, 0.05, 0.5),
  });

  it('are those of the full softmax at the temperature, of the distribution sampled from, and of the plain softmax', () => {
    fc.assert(
      fc.property(logitsOf(300), rules, uniform, (logits, rule, u) => {
        const temperature = rule.temperature || 1;
        const next = outputOf([logits], temperature).next[0]!;
        const { id, logprob, samplingLogprob } = choose(next, rule, u);
        const scaled = [...next.logits];
        expect(logprob).toBeCloseTo(scaled[id]! - logSumExp(scaled), 5);

        const kept =
          rule.temperature === 0
            ? [id]
            : candidateIds(
                next.probabilities,
                next.blockSums.reduce((a, b) => a + b, 0),
                rule,
              );
        const sampled = scaled[id]! - logSumExp(kept.map((one) => scaled[one]!));
        expect(samplingLogprob).toBeCloseTo(sampled, 5);

        const untempered = new UntemperedLogprobs(next, temperature);
        const plain = scaled.map((x) => x * temperature);
        expect(untempered.of(id)).toBeCloseTo(plain[id]! - logSumExp(plain), 9);
        const top = untempered.top(5);
        expect(top.map((one) => one.logprob)).toEqual(
          plain
            .map((x) => x - logSumExp(plain))
            .sort((a, b) => b - a)
            .slice(0, 5)
            .map((x) => expect.closeTo(x, 9) as number),
        );
      }),
    );
  });

  it('of tokens too unlikely for a float are exact', () => {
    const next = outputOf([[60, 0, -100]]).next[0]!;
    // Not exactly the logit minus 60: the reference adds exp(-60) and exp(-160).
    expect(choose(next, { ...everything, topK: 1 }, 0).logprob).toBeCloseTo(0, 12);
    expect(new UntemperedLogprobs(next, 1).of(2)).toBeCloseTo(-160, 12);
  });
});

describe('greedy choice', () => {
  it('takes the largest logit, the lowest id among equals, and ignores the uniform number', () => {
    const output = outputOf([[0, 3, 3, 1]]);
    for (const u of [0, 0.4, 0.999]) {
      expect(chooseToken(output, 0, { temperature: 0, topK: 0, topP: 1 }, u).id).toBe(1);
    }
  });
});

describe('top-k, top-p and min-p', () => {
  const descending = (p: Float32Array) => Array.from(p.keys()).sort((a, b) => p[b]! - p[a]! || a - b);

  it('top-k keeps exactly the k most probable ids', () => {
    fc.assert(
      fc.property(logitsOf(200), fc.integer({ min: 1, max: 210 }), (logits, topK) => {
        const { probabilitiesBV } = outputOf([logits]);
        const kept = candidateIds(probabilitiesBV, 1, { temperature: 1, topK, topP: 1 });
        const expected = descending(probabilitiesBV).slice(0, topK);
        expect(kept).toEqual(expected.sort((a, b) => a - b));
      }),
    );
  });

  it('top-p keeps the smallest set of most probable ids that reaches its share of what top-k left', () => {
    fc.assert(
      fc.property(
        logitsOf(200),
        fc.integer({ min: 0, max: 210 }),
        fc.double({ min: 0.05, max: 0.99, noNaN: true }),
        (logits, topK, topP) => {
          const { probabilitiesBV, blockSumsBN } = outputOf([logits]);
          const total = blockSumsBN.reduce((a, b) => a + b, 0);
          const kept = candidateIds(probabilitiesBV, total, { temperature: 1, topK, topP });
          const order = descending(probabilitiesBV).slice(0, topK || undefined);
          expect(kept).toEqual(order.slice(0, kept.length).sort((a, b) => a - b));
          const share = (count: number) =>
            order.slice(0, count).reduce((s, id) => s + probabilitiesBV[id]!, 0);
          const mass = share(order.length);
          expect(share(kept.length)).toBeGreaterThanOrEqual(topP * mass - 1e-6);
          if (kept.length > 1) expect(share(kept.length - 1)).toBeLessThan(topP * mass + 1e-6);
        },
      ),
    );
  });

  it('min-p keeps what is at least its share of the largest probability', () => {
    fc.assert(
      fc.property(logitsOf(200), fc.double({ min: 0.01, max: 1, noNaN: true }), (logits, minP) => {
        const { probabilitiesBV } = outputOf([logits]);
        const largest = Math.max(...probabilitiesBV);
        const expected = [...probabilitiesBV.keys()].filter((id) => probabilitiesBV[id]! >= minP * largest);
        expect(candidateIds(probabilitiesBV, 1, { temperature: 1, topK: 0, topP: 1, minP })).toEqual(
          expected,
        );
      }),
    );
  });

  it('draws in proportion among the kept ids only', () => {
    const output = outputOf([[Math.log(0.5), Math.log(0.1), Math.log(0.3), Math.log(0.1)]]);
    const rule = { temperature: 1, topK: 2, topP: 1 };
    const seed = seedAt(3, 'rollout');
    const counts = [0, 0, 0, 0];
    for (let i = 0; i < 20_000; i++) counts[chooseToken(output, 0, rule, uniformAt(seed, i)).id]!++;
    expect(counts[1]! + counts[3]!).toBe(0);
    expect(counts[0]! / 20_000).toBeCloseTo(0.625, 1);
  });
});
