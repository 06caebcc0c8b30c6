import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seedAt, uniformAt } from '../../core/seeds.ts';
import { blockCount, candidateIds, chooseToken, SAMPLING_BLOCK, type StepOutput } from './sampler.ts';

/** A step output with one row for each list of logits, as the graph would write it. */
function outputOf(logitsRows: number[][], temperature = 1): StepOutput {
  const vocabSize = logitsRows[0]!.length;
  const blocks = blockCount(vocabSize);
  const logitsBV = Float32Array.from(logitsRows.flat());
  const probabilitiesBV = new Float32Array(logitsBV.length);
  const blockSumsBN = new Float32Array(logitsRows.length * blocks);
  logitsRows.forEach((logits, row) => {
    const scaled = logits.map((x) => Math.fround(x) / temperature);
    const largest = Math.max(...scaled);
    const exponentials = scaled.map((x) => Math.exp(x - largest));
    const total = exponentials.reduce((a, b) => a + b);
    exponentials.forEach((e, id) => {
      probabilitiesBV[row * vocabSize + id] = e / total;
      blockSumsBN[row * blocks + Math.floor(id / SAMPLING_BLOCK)]! += probabilitiesBV[row * vocabSize + id]!;
    });
  });
  return { vocabSize, logitsBV, probabilitiesBV, blockSumsBN };
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
  it('are those of the full softmax at the temperature, whatever top-k and top-p leave', () => {
    const logits = [1, 2.5, -3, 0.25];
    const output = outputOf([logits], 0.7);
    const rule = { temperature: 0.7, topK: 2, topP: 0.95 };
    const { id, logprob } = chooseToken(output, 0, rule, 0.999);
    const total = logits.reduce((sum, x) => sum + Math.exp(x / 0.7), 0);
    expect(logprob).toBeCloseTo(logits[id]! / 0.7 - Math.log(total), 6);
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

describe('top-k and top-p', () => {
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
