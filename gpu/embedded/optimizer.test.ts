import { describe, expect, it } from 'vitest';
import { seedAt, uniformAt } from '../../core/seeds.ts';
import type { StepSettings } from '../engine-port.ts';
import { plainLlama } from '../model/decoder-config.ts';
import { AdamW } from './optimizer.ts';
import { weightsLayout } from './weights-layout.ts';

const layout = weightsLayout({
  ...plainLlama,
  vocabSize: 600,
  hiddenSize: 128,
  layers: 1,
  heads: 2,
  kvHeads: 1,
  headSize: 8,
  feedForwardSize: 8,
  ropeTheta: 10_000,
  normEpsilon: 1e-5,
  maxPositions: 8,
});
const settings: StepSettings = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.98,
  epsilon: 1e-8,
  weightDecay: 0.1,
  gradientClip: 1,
};

function random(length: number, stream: number): Float32Array {
  const seed = seedAt(3, 'heldOut', stream);
  return Float32Array.from({ length }, (_, i) => uniformAt(seed, i) - 0.5);
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** AdamW as its paper writes it, in float64, with gradients scaled down to norm 1. */
function referenceAdamW(
  weights: Float32Array,
  gradientsOfSteps: Float32Array[],
  matrixParameters = layout.matrixParameters,
): Float64Array {
  const { learningRate, beta1, beta2, epsilon, weightDecay } = settings;
  const w = Float64Array.from(weights);
  const m = new Float64Array(w.length);
  const v = new Float64Array(w.length);
  gradientsOfSteps.forEach((gradients, index) => {
    const norm = Math.sqrt(gradients.reduce((sum, g) => sum + g * g, 0));
    const t = index + 1;
    for (let i = 0; i < w.length; i++) {
      const g = gradients[i]! * Math.min(1, settings.gradientClip / (norm + 1e-6));
      m[i] = beta1 * m[i]! + (1 - beta1) * g;
      v[i] = beta2 * v[i]! + (1 - beta2) * g * g;
      const decay = i < matrixParameters ? weightDecay : 0;
      const direction = m[i]! / (1 - beta1 ** t) / (Math.sqrt(v[i]! / (1 - beta2 ** t)) + epsilon);
      w[i] = w[i]! - learningRate * (direction + decay * w[i]!);
    }
  });
  return w;
}

describe('AdamW', () => {
  it('follows the float64 reference over 20 clipped steps, across slices, decaying matrices and not norms', () => {
    const optimizer = new AdamW(layout);
    const { weights, gradients } = optimizer.arrays;
    const initial = random(layout.parameters, 0);
    weights.set(initial);
    const gradientsOfSteps = Array.from({ length: 20 }, (_, step) => random(layout.parameters, step + 1));
    gradientsOfSteps.forEach((gradient, index) => {
      gradients.set(gradient);
      expect(optimizer.step(settings, index + 1).applied).toBe(true);
    });
    const expected = referenceAdamW(initial, gradientsOfSteps);
    const worst = expected.reduce((most, w, i) => Math.max(most, Math.abs(w - weights[i]!)), 0);
    expect(worst).toBeLessThan(2e-6);
  });

  it.each([1, 3, 4, 7, 8, 65_535, 65_537, 150_001])(
    'gives the same bits in its memory and copied into it, for %i parameters of which a third are matrices',
    (parameters) => {
      const odd = { parameters, matrixParameters: Math.floor(parameters / 3) };
      const [inPlace, copied] = [new AdamW(odd), new AdamW(odd, 0)];
      for (let step = 1; step <= 3; step++) {
        const norms = [inPlace, copied].map(({ arrays }, i) => {
          if (step === 1) arrays.weights.set(random(parameters, 0));
          arrays.gradients.set(random(parameters, step));
          return [inPlace, copied][i]!.step(settings, step).gradientNorm;
        });
        expect(norms[0]).toBe(norms[1]);
      }
      for (const name of ['weights', 'firstMoments', 'secondMoments'] as const) {
        expect(bytesOf(copied.arrays[name]).equals(bytesOf(inPlace.arrays[name])), name).toBe(true);
      }
      const gradientsOfSteps = [1, 2, 3].map((step) => random(parameters, step));
      const expected = referenceAdamW(random(parameters, 0), gradientsOfSteps, odd.matrixParameters);
      const differences = inPlace.arrays.weights.map((w, i) => Math.abs(w - expected[i]!));
      expect(differences.reduce((most, difference) => Math.max(most, difference), 0)).toBeLessThan(1e-6);
    },
  );

  it('reports the norm before clipping, does not scale a gradient below the bound, and clears it', () => {
    const optimizer = new AdamW(layout);
    const { gradients, firstMoments } = optimizer.arrays;
    gradients.fill(0.3, 0, 1);
    gradients.fill(0.4, layout.parameters - 1);
    const { gradientNorm } = optimizer.step(settings, 1);
    expect(gradientNorm).toBeCloseTo(0.5, 7);
    expect(firstMoments.at(-1)).toBeCloseTo(0.04, 7);
    expect(gradients.every((g) => g === 0)).toBe(true);
  });

  it.each([NaN, Infinity, -Infinity])('changes no weight or moment for a gradient with %s', (bad) => {
    const optimizer = new AdamW(layout);
    const { weights, gradients, firstMoments, secondMoments } = optimizer.arrays;
    weights.fill(1);
    gradients[layout.parameters - 1] = bad;
    expect(optimizer.step(settings, 1).applied).toBe(false);
    expect(weights.every((w) => w === 1)).toBe(true);
    expect([gradients, firstMoments, secondMoments].every((array) => array.every((x) => x === 0))).toBe(true);
  });

  it.each([0, 70_001, layout.parameters - 1])('tells when weight %i has become infinite or NaN', (index) => {
    for (const bad of [Infinity, NaN]) {
      const optimizer = new AdamW(layout);
      optimizer.arrays.weights[index] = bad;
      optimizer.arrays.gradients.fill(0.1);
      expect(optimizer.step(settings, 1).applied).toBe(false);
    }
  });

  it('lets moments that fade away end at zero instead of in subnormal numbers', () => {
    const optimizer = new AdamW(layout);
    const { weights, gradients, firstMoments, secondMoments } = optimizer.arrays;
    gradients.fill(1e-20);
    optimizer.step(settings, 1);
    expect(firstMoments.every((m) => m > 0)).toBe(true);
    for (let step = 2; step < 700; step++) optimizer.step({ ...settings, learningRate: 0 }, step);
    expect([...firstMoments, ...secondMoments].every((x) => x === 0)).toBe(true);
    expect(weights.every(Number.isFinite)).toBe(true);
  });
});
