/** What a training setup changes in training: adapters, frozen tensors, checkpointing, heads. */
import { describe, expect, it } from 'vitest';
import type { LossSettings } from '../../core/loss/settings.ts';
import type { AdapterModule } from '../../core/recipe.ts';
import { randomBatch, uniform } from '../../tests/fixtures/training.ts';
import { referenceLoss, referenceScores } from '../../tests/oracles/reference-loss.ts';
import { adapterLayout } from '../adapters/adapter-layout.ts';
import { AdapterMerger } from '../adapters/merge.ts';
import type { RowBatch, StepSettings } from '../engine-port.ts';
import { plainLlama, type DecoderConfig } from '../model/decoder-config.ts';
import { trainEverything, type TrainingSetup } from '../training-setup.ts';
import { Scorer } from './scorer.ts';
import type { HostTensor } from './session.ts';
import { Trainer } from './trainer.ts';
import { trainingPlan } from './training-plan.ts';
import { weightTensors } from './weight-tensors.ts';
import { weightsLayout, type TensorSlot } from './weights-layout.ts';

const config: DecoderConfig = {
  ...plainLlama,
  vocabSize: 23,
  hiddenSize: 24,
  layers: 3,
  heads: 4,
  kvHeads: 2,
  headSize: 8,
  feedForwardSize: 40,
  ropeTheta: 100,
  normEpsilon: 1e-5,
  maxPositions: 16,
};
const temperature = 0.8;
const ppo: LossSettings & { name: 'ppo-clip' } = {
  name: 'ppo-clip',
  clipLow: 0.2,
  clipHigh: 0.2,
  kl: { coefficient: 0.1, estimator: 'k3' },
};
const stepSettings: StepSettings = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0.1,
  gradientClip: 1,
};
const adapter = { rank: 3, alpha: 6, targets: 'all-linear', rankStabilized: false } as const;
const batch = randomBatch(config, [7, 3, 9, 5]);

const norm = (values: Float32Array): number => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0));
const tensorsOf = (layout = weightsLayout(config), flat = randomWeights(layout)) =>
  weightTensors(layout, flat);

function randomWeights({
  parameters,
  matrixParameters,
}: {
  parameters: number;
  matrixParameters: number;
}): Float32Array {
  return uniform(parameters, 1).map((w, i) => (i < matrixParameters ? w : 1 + w));
}

/** A trainer at random weights; the tensors that it does not train are those of the same weights. */
function trainerWith(changes: Partial<TrainingSetup>, threads = 1): Trainer {
  const setup = { ...trainEverything, ...changes };
  const trainer = new Trainer(config, { threads, setup });
  const { base, trained } = trainer.plan;
  const all: Readonly<Record<string, HostTensor>> = tensorsOf(base);
  const flat = changes.adapter ? uniform(trained.parameters, 7) : new Float32Array(trained.parameters);
  for (const { name, offset } of trained.tensors) {
    if (name in all) flat.set(all[name]!.data as Float32Array, offset);
  }
  trainer.beginUpdate(flat, null, 0, all);
  return trainer;
}

/** The gradient's prediction of a change along a direction of one tensor, against the change of `lossAt`, relative to its size. */
function expectPredicts(
  trainer: Trainer,
  slots: readonly TensorSlot[],
  lossAt: (weights: Float32Array) => number,
): void {
  const { gradients } = trainer;
  const weights = trainer.weights.slice();
  for (const [index, { name, offset, length }] of slots.entries()) {
    const gradient = gradients.subarray(offset, offset + length);
    const size = norm(gradient);
    expect(size, name).toBeGreaterThan(0);
    const direction = uniform(length, 100 + index).map(
      (x, i) => x / Math.sqrt(length / 12) + gradient[i]! / size,
    );
    const move = (by: number): Float32Array => {
      const moved = weights.slice();
      direction.forEach((x, i) => (moved[offset + i]! += by * x));
      return moved;
    };
    const [up, down] = [move(1e-4), move(-1e-4)];
    const predicted = gradient.reduce((sum, g, i) => sum + g * (up[offset + i]! - down[offset + i]!), 0);
    expect(Math.abs((lossAt(up) - lossAt(down)) / predicted - 1), name).toBeLessThan(1e-4);
  }
}

describe('an entropy bonus', () => {
  it('has the loss and the gradient of the float64 oracle', () => {
    const loss = { ...ppo, entropyCoefficient: 0.7 };
    const trainer = trainerWith({});
    const result = trainer.forwardBackward(batch, loss, temperature);
    const lossAt = (weights: Float32Array): number =>
      referenceLoss(config, weights, batch, loss, temperature).loss;
    expect(result.loss).toBeCloseTo(lossAt(trainer.weights), 4);
    expectPredicts(trainer, weightsLayout(config).huggingFace, lossAt);
  });

  it('is told for each token', () => {
    const { entropies } = trainerWith({}).forwardBackward(batch, ppo, temperature);
    const expected = referenceLoss(config, randomWeights(weightsLayout(config)), batch, ppo, temperature);
    expected.entropies.forEach((entropy, t) => expect(entropies[t]).toBeCloseTo(entropy, 5));
  });
});

describe('an adapter', () => {
  const base = weightsLayout(config);
  const baseWeights = randomWeights(base);

  /** The flat full weights with an adapter added in float64. */
  function mergedInDouble(flat: Float32Array): Float64Array {
    const merged = Float64Array.from(baseWeights);
    const { tensors } = adapterLayout(base, adapter, false);
    const matrices = base.huggingFace.filter(({ name }) => /layers.*proj/.test(name));
    matrices.forEach(({ shape, offset }, i) => {
      const [outputs, inputs] = shape as [number, number];
      const [a, b] = [tensors[2 * i]!.offset, tensors[2 * i + 1]!.offset];
      for (let row = 0; row < outputs; row++) {
        for (let column = 0; column < inputs; column++) {
          for (let k = 0; k < adapter.rank; k++) {
            merged[offset + row * inputs + column]! +=
              2 * flat[b + row * adapter.rank + k]! * flat[a + k * inputs + column]!;
          }
        }
      }
    });
    return merged;
  }

  it('has gradients that predict the float64 oracle’s loss along random directions of every pair', () => {
    const trainer = trainerWith({ adapter });
    const result = trainer.forwardBackward(batch, ppo, temperature);
    const lossAt = (flat: Float32Array): number =>
      referenceLoss(config, mergedInDouble(flat), batch, ppo, temperature).loss;
    expect(result.loss).toBeCloseTo(lossAt(trainer.weights), 3);
    expectPredicts(trainer, trainer.plan.trained.tensors, lossAt);
  });

  it('gives, merged into its base, the log-probs that it gives apart, on any number of threads', () => {
    const trainer = trainerWith({ adapter });
    const { logprobs } = trainer.forwardBackward(batch, ppo, temperature);
    const merge = (threads: number) =>
      new AdapterMerger({ threads }).merge(tensorsOf(), base, adapter, trainer.weights, false);
    const merged = merge(1);
    const scored = new Scorer(config, { threads: 1 }).score(merged, batch, temperature);
    logprobs.forEach((logprob, t) => expect(Math.abs(scored[t]! - logprob)).toBeLessThan(1e-5));
    expect(Object.values(merge(2)).map(({ data }) => data)).toEqual(
      Object.values(merged).map(({ data }) => data),
    );
    expect(merged['embedding']!.data).toEqual(tensorsOf()['embedding']!.data);
  });

  it.each([
    [{ ...adapter, rankStabilized: true }, 6 / Math.sqrt(3)],
    [{ ...adapter, alpha: 9 }, 3],
  ])('is scaled by alpha / r, or alpha / sqrt(r): %o', (settings, scale) => {
    const targets: AdapterModule[] = ['v_proj'];
    const one = trainerWith({ adapter: { ...adapter, alpha: 3, targets } });
    const other = trainerWith({ adapter: { ...settings, targets } });
    const { trained } = one.plan;
    const scaled = one.weights.slice();
    for (const { name, offset, length } of trained.tensors) {
      if (!name.endsWith('.b')) continue;
      for (let i = offset; i < offset + length; i++) scaled[i]! *= scale;
    }
    one.beginUpdate(scaled, null, 0, tensorsOf());
    const [a, b] = [one, other].map((each) => each.forwardBackward(batch, ppo, temperature).loss);
    expect(a).toBeCloseTo(b!, 4);
  });

  it('has no gradients or moments but its own', () => {
    const trainer = trainerWith({ adapter: { ...adapter, targets: ['q_proj', 'v_proj'] } });
    const perLayer = 3 * (24 + 32) + 3 * (24 + 16);
    expect(trainer.gradients).toHaveLength(3 * perLayer);
    expect(trainer.moments.first).toHaveLength(3 * perLayer);
  });
});

describe('frozen tensors', () => {
  const whole = (pattern: string[]): string[] =>
    trainingPlan(config, { ...trainEverything, frozen: pattern }).trained.huggingFace.map(({ name }) => name);

  it('have no place among gradients and moments', () => {
    const frozen = ['model.embed_tokens.*', 'model.layers.{0..1}.*'];
    expect(whole(frozen).every((name) => name.includes('layers.2') || name === 'model.norm.weight')).toBe(
      true,
    );
    const trainer = trainerWith({ frozen });
    const all = trainerWith({});
    for (const each of [trainer, all]) each.forwardBackward(batch, ppo, temperature);
    for (const { name, offset, length } of trainer.plan.trained.tensors) {
      const same = all.plan.trained.tensors.find((slot) => slot.name === name)!;
      const gradient = trainer.gradients.subarray(offset, offset + length);
      expect(gradient, name).toEqual(all.gradients.subarray(same.offset, same.offset + same.length));
    }
    expect(trainer.gradients.length).toBeLessThan(all.gradients.length / 2);
  });

  it('that are part of a stacked matrix do not change, nor count in the norm', () => {
    const trainer = trainerWith({ frozen: ['*.q_proj.weight', '*.up_proj.weight'] });
    const before = trainer.weights.slice();
    trainer.forwardBackward(batch, ppo, temperature);
    const { trained } = trainer.plan;
    const gradients = trainer.gradients.slice();
    const held = (i: number): boolean =>
      trained.held.some(({ offset, length }) => i >= offset && i < offset + length);
    const { gradientNorm } = trainer.optimizerStep(stepSettings);
    expect(gradientNorm).toBeCloseTo(norm(gradients.filter((_, i) => !held(i))), 4);
    const changed = trainer.weights.map((w, i) => Number(w !== before[i]));
    expect(changed.filter((_, i) => held(i)).every((change) => change === 0)).toBe(true);
    expect(changed.filter((_, i) => !held(i)).filter((change) => change === 0).length).toBeLessThan(5);
  });

  it('are refused where they leave nothing to train, or match nothing', () => {
    expect(() => whole(['*'])).toThrow('frozen patterns leave nothing to train: *');
    expect(() => whole(['model.layers.{0..9}.mlp.up'])).toThrow('matches no name of a tensor');
    expect(() => trainingPlan(config, { ...trainEverything, adapter, frozen: ['*'] })).toThrow(
      'beside an adapter',
    );
  });
});

describe('checkpointing', () => {
  it.each([{}, { adapter }, { frozen: ['model.layers.1.*'] }] as const)(
    'gives the very bits that training without it gives (%o)',
    (changes) => {
      const [kept, repeated] = [false, true].map((checkpointing) => {
        const trainer = trainerWith({ ...changes, checkpointing });
        const result = trainer.forwardBackward(batch, ppo, temperature);
        return { result, gradients: trainer.gradients };
      });
      expect(repeated).toEqual(kept);
    },
  );
});

describe('a value head', () => {
  const values = { returns: uniform(24, 31), oldValues: uniform(24, 32) };
  const rows: RowBatch = { ...batch, ...values };
  const layout = weightsLayout(config, 'score');

  it.each([{ name: 'value-mse' }, { name: 'value-clip', clip: 0.2 }] as const)(
    'has the loss, values and gradients of the float64 oracle ($name)',
    (loss) => {
      const trainer = trainerWith({ head: 'value' });
      const result = trainer.forwardBackward(rows, loss, 1);
      const lossAt = (weights: Float32Array): number => {
        const valuesT = referenceScores(config, weights, rows, (position) => position - 1);
        return [...batch.trained.keys()].reduce((sum, t) => {
          if (batch.trained[t] !== 1) return sum;
          const [value, old, target] = [valuesT[t]!, values.oldValues[t]!, values.returns[t]!];
          const bounded =
            loss.name === 'value-mse' ? value : Math.min(Math.max(value, old - loss.clip), old + loss.clip);
          return sum + (batch.weights[t]! * Math.max((value - target) ** 2, (bounded - target) ** 2)) / 2;
        }, 0);
      };
      expect(result.loss).toBeCloseTo(lossAt(trainer.weights), 4);
      const expected = referenceScores(config, trainer.weights, rows, (position) => position - 1);
      result.values.forEach((value, t) => expect(value).toBeCloseTo(batch.trained[t]! * expected[t]!, 4));
      expectPredicts(trainer, layout.huggingFace, lossAt);
    },
  );

  it('on an adapter has a score of its own, which is trained with it', () => {
    const trainer = trainerWith({ head: 'value', adapter });
    const before = trainer.weights.slice();
    trainer.forwardBackward(rows, { name: 'value-mse' }, 1);
    trainer.optimizerStep(stepSettings);
    const { offset, length } = trainer.plan.trained.tensors.at(-1)!;
    expect(length).toBe(config.hiddenSize);
    expect(trainer.weights.subarray(offset)).not.toEqual(before.subarray(offset));
  });

  it('refuses the losses of another head', () => {
    expect(() => trainerWith({ head: 'value' }).forwardBackward(rows, ppo, 1)).toThrow(
      'loss ppo-clip needs a token head',
    );
  });
});

describe('a reward head', () => {
  const rewards = (weights: Float32Array): number[] => {
    let start = 0;
    const scoresT = referenceScores(config, weights, batch, (position) => position);
    return [...batch.rowLengths].map((length) => scoresT[(start += length) - 1]!);
  };
  const rows: RowBatch = {
    ...batch,
    weights: Float32Array.of(0.5, 0, 2, 0),
    targets: Float32Array.of(0.3, -1, 0.1, 2),
  };

  it('has the loss, rewards and gradients of the float64 oracle for pairs with margins', () => {
    const trainer = trainerWith({ head: 'reward' });
    const loss = { name: 'reward-pairs' } as const;
    const result = trainer.forwardBackward(rows, loss, 1);
    const lossAt = (weights: Float32Array): number => {
      const r = rewards(weights);
      const pair = (chosen: number, margin: number): number =>
        Math.log1p(Math.exp(-(r[chosen]! - r[chosen + 1]! - margin)));
      return 0.5 * pair(0, rows.targets![0]!) + 2 * pair(2, rows.targets![2]!);
    };
    expect(result.loss).toBeCloseTo(lossAt(trainer.weights), 5);
    rewards(trainer.weights).forEach((reward, row) => expect(result.values[row]).toBeCloseTo(reward, 4));
    expect(result.metrics['reward/accuracy']).toBe(
      0.5 * Number(result.values[0]! > result.values[1]!) + 2 * Number(result.values[2]! > result.values[3]!),
    );
    expectPredicts(trainer, weightsLayout(config, 'score').huggingFace, lossAt);
  });

  it('has the loss and gradients of the float64 oracle for regression', () => {
    const trainer = trainerWith({ head: 'reward' });
    const result = trainer.forwardBackward(
      { ...rows, weights: Float32Array.of(1, 2, 3, 4) },
      { name: 'reward-mse' },
      1,
    );
    const lossAt = (weights: Float32Array): number =>
      rewards(weights).reduce(
        (sum, reward, row) => sum + ((row + 1) * (reward - rows.targets![row]!) ** 2) / 2,
        0,
      );
    expect(result.loss).toBeCloseTo(lossAt(trainer.weights), 4);
    expectPredicts(trainer, weightsLayout(config, 'score').huggingFace, lossAt);
  });

  it('does not depend on which rows share a run, and takes rows as long as the model reads', () => {
    const long = randomBatch(config, [16, 4, 2, 16]);
    const results = [undefined, 1].map((tokenLimit) => {
      const trainer = new Trainer(config, {
        threads: 1,
        setup: { ...trainEverything, head: 'reward' },
        ...(tokenLimit && { tokenLimit }),
      });
      trainer.beginUpdate(randomWeights(weightsLayout(config, 'score')), null, 0);
      return trainer.forwardBackward(
        { ...rows, ...long, weights: rows.weights },
        { name: 'reward-pairs' },
        1,
      );
    });
    expect(results[0]!.loss).toBeCloseTo(results[1]!.loss, 5);
  });

  it('refuses an odd number of rows as pairs', () => {
    const odd = { ...rows, ...randomBatch(config, [4, 4, 4]) };
    expect(() => trainerWith({ head: 'reward' }).forwardBackward(odd, { name: 'reward-pairs' }, 1)).toThrow(
      '3 rows; expected pairs of chosen and rejected',
    );
  });
});
