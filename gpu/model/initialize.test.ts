import { describe, expect, it } from 'vitest';
import { seedAt } from '../../core/seeds.ts';
import { plainLlama, type DecoderConfig } from './decoder-config.ts';
import { fillNormal, initialWeights } from './initialize.ts';

const config: DecoderConfig = {
  ...plainLlama,
  vocabSize: 300,
  hiddenSize: 64,
  layers: 2,
  heads: 8,
  kvHeads: 4,
  headSize: 16,
  feedForwardSize: 256,
  ropeTheta: 10_000,
  normEpsilon: 1e-5,
  maxPositions: 64,
};

function moments(data: Float32Array): { mean: number; std: number; kurtosis: number } {
  const mean = data.reduce((sum, x) => sum + x, 0) / data.length;
  const central = (power: number) => data.reduce((sum, x) => sum + (x - mean) ** power, 0) / data.length;
  return { mean, std: Math.sqrt(central(2)), kurtosis: central(4) / central(2) ** 2 };
}

describe('fillNormal', () => {
  it('draws from the standard normal distribution', () => {
    const data = new Float32Array(200_000);
    fillNormal(data, seedAt(1, 'initialWeights'), 1);
    const { mean, std, kurtosis } = moments(data);
    // Four standard errors at this size: 0.009 of the mean, 0.006 of the deviation, 0.044 of the kurtosis.
    expect(Math.abs(mean)).toBeLessThan(0.009);
    expect(Math.abs(std - 1)).toBeLessThan(0.0065);
    expect(Math.abs(kurtosis - 3)).toBeLessThan(0.044);
    const neighbours = data.reduce((sum, x, i) => sum + x * (data[i + 1] ?? 0), 0) / data.length;
    expect(Math.abs(neighbours)).toBeLessThan(0.009);
  });

  it('gives an element the same value in an array of any length', () => {
    const seed = seedAt(5, 'initialWeights', 2);
    const long = new Float32Array(11);
    fillNormal(long, seed, 0.5);
    for (let length = 0; length < long.length; length++) {
      const short = new Float32Array(length);
      fillNormal(short, seed, 0.5);
      expect(short).toEqual(long.slice(0, length));
    }
  });
});

describe('initialWeights', () => {
  const weights = (seed: number) =>
    new Map(
      initialWeights(config, { seed, embeddingStd: 0.15 }).map(({ name, data }) => [
        name,
        data() as Float32Array,
      ]),
    );

  it('has standard deviation 1/sqrt(fan-in), less by sqrt(2 * layers) where a layer writes to the residual stream', () => {
    const drawn = weights(1);
    const expected: [string, number][] = [
      ['model.embed_tokens.weight', 0.15],
      ['model.layers.0.self_attn.q_proj.weight', 1 / 8],
      ['model.layers.1.self_attn.v_proj.weight', 1 / 8],
      ['model.layers.0.mlp.up_proj.weight', 1 / 8],
      ['model.layers.1.self_attn.o_proj.weight', 1 / Math.sqrt(128) / 2],
      ['model.layers.1.mlp.down_proj.weight', 1 / 16 / 2],
    ];
    for (const [name, std] of expected) {
      expect(moments(drawn.get(name)!).std / std, name).toBeGreaterThan(0.95);
      expect(moments(drawn.get(name)!).std / std, name).toBeLessThan(1.05);
    }
    expect(new Set(drawn.get('model.norm.weight'))).toEqual(new Set([1]));
  });

  it('shares no values between tensors or seeds', () => {
    const starts = [...weights(1), ...weights(2)]
      .filter(([name]) => !name.includes('norm'))
      .map(([, data]) => data[0]);
    expect(new Set(starts).size).toBe(starts.length);
  });
});
