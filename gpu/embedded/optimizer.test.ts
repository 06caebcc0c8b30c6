import { describe, expect, it } from 'vitest';
import { seedAt, uniformAt } from '../../core/seeds.ts';
import type { StepSettings } from '../engine-port.ts';
import { plainLlama } from '../model/decoder-config.ts';
import { AdamW, type OptimizerArrays } from './optimizer.ts';
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

function zeroArrays(): OptimizerArrays {
  const flat = (): Float32Array => new Float32Array(layout.parameters);
  return { weights: flat(), gradients: flat(), firstMoments: flat(), secondMoments: flat() };
}

/** AdamW as its paper writes it, in float64, with gradients scaled down to norm 1. */
function referenceAdamW(weights: Float32Array, gradientsOfSteps: Float32Array[]): Float64Array {
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
      const decay = i < layout.matrixParameters ? weightDecay : 0;
      const direction = m[i]! / (1 - beta1 ** t) / (Math.sqrt(v[i]! / (1 - beta2 ** t)) + epsilon);
      w[i] = w[i]! - learningRate * (direction + decay * w[i]!);
    }
  });
  return w;
}

describe('AdamW', () => {
  it('follows the float64 reference over 20 clipped steps, across slices, decaying matrices and not norms', () => {
    const arrays = zeroArrays();
    const initial = random(layout.parameters, 0);
    arrays.weights.set(initial);
    const optimizer = new AdamW(layout, arrays, { threads: 1 });
    const gradients = Array.from({ length: 20 }, (_, step) => random(layout.parameters, step + 1));
    gradients.forEach((gradient, index) => {
      arrays.gradients.set(gradient);
      expect(optimizer.step(settings, index + 1).applied).toBe(true);
    });
    const expected = referenceAdamW(initial, gradients);
    const worst = expected.reduce((most, w, i) => Math.max(most, Math.abs(w - arrays.weights[i]!)), 0);
    expect(worst).toBeLessThan(2e-6);
  });

  it('reports the norm before clipping, and does not scale a gradient below the bound', () => {
    const arrays = zeroArrays();
    arrays.gradients.fill(0.3, 0, 1);
    arrays.gradients.fill(0.4, 1, 2);
    const optimizer = new AdamW(layout, arrays, { threads: 1 });
    const { gradientNorm } = optimizer.step(settings, 1);
    expect(gradientNorm).toBeCloseTo(0.5, 6);
    expect(arrays.firstMoments[1]).toBeCloseTo(0.04, 7);
  });

  it.each([NaN, Infinity, -Infinity])('changes nothing for a gradient with %s', (bad) => {
    const arrays = zeroArrays();
    arrays.weights.fill(1);
    arrays.gradients[layout.parameters - 1] = bad;
    const optimizer = new AdamW(layout, arrays, { threads: 1 });
    expect(optimizer.step(settings, 1).applied).toBe(false);
    expect(arrays.weights.every((w) => w === 1)).toBe(true);
    expect(arrays.firstMoments.every((m) => m === 0)).toBe(true);
    expect(arrays.secondMoments.every((v) => v === 0)).toBe(true);
  });

  it.each(['in-place', 'copy'] as const)(
    'gives the same bits on 1 and 2 threads with output path %s',
    (outputPath) => {
      const results = [1, 2].map((threads) => {
        const arrays = zeroArrays();
        arrays.weights.set(random(layout.parameters, 0));
        arrays.gradients.set(random(layout.parameters, 1));
        new AdamW(layout, arrays, { threads, outputPath }).step(settings, 1);
        return Buffer.from(arrays.weights.buffer).toString('base64');
      });
      expect(results[0]).toBe(results[1]);
    },
  );
});
