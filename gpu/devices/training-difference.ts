/** How far a tiny training step on a device is from the same step on the CPU. */
import type { DeviceName } from '../../core/devices.ts';
import { integerAt, seedAt } from '../../core/seeds.ts';
import { Trainer } from '../embedded/trainer.ts';
import { weightsLayout } from '../embedded/weights-layout.ts';
import type { RowBatch, StepSettings } from '../engine-port.ts';
import { plainLlama, type DecoderConfig } from '../model/decoder-config.ts';
import { fillNormal } from '../model/initialize.ts';

const config: DecoderConfig = {
  ...plainLlama,
  vocabSize: 40,
  hiddenSize: 32,
  layers: 1,
  heads: 2,
  kvHeads: 1,
  headSize: 16,
  feedForwardSize: 48,
  ropeTheta: 10_000,
  normEpsilon: 1e-5,
  maxPositions: 16,
};

const settings: StepSettings = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.98,
  epsilon: 1e-8,
  weightDecay: 0.01,
  gradientClip: 1,
};

/** The larger of the relative differences of the gradients and of the weights after an AdamW step. */
export function trainingDifference(device: DeviceName): number {
  const [expected, found] = [takeStep('cpu'), takeStep(device)];
  return Math.max(
    relativeDifference(expected.gradients, found.gradients),
    relativeDifference(expected.weights, found.weights),
  );
}

function takeStep(device: DeviceName): { gradients: Float32Array; weights: Float32Array } {
  const weights = new Float32Array(weightsLayout(config).parameters);
  fillNormal(weights, seedAt(1, 'initialWeights'), 0.2);
  const trainer = new Trainer(config, { threads: 1, device });
  trainer.beginUpdate(weights, null, 0);
  trainer.forwardBackward(tinyBatch(), { name: 'cross-entropy' }, 1);
  const gradients = trainer.gradients.slice();
  trainer.optimizerStep(settings);
  const stepped = trainer.weights.slice();
  trainer.close();
  return { gradients, weights: stepped };
}

/** Two rows, each token but the first of them trained. */
function tinyBatch(): RowBatch {
  const [rows, length] = [2, 8];
  const tokens = rows * length;
  const trained = Uint8Array.from({ length: tokens }, (_, t) => Number(t % length > 0));
  const ids = Int32Array.from({ length: tokens }, (_, t) =>
    integerAt(seedAt(1, 'warmStart'), t, config.vocabSize),
  );
  return {
    ids,
    rowLengths: new Int32Array(rows).fill(length),
    trained,
    weights: Float32Array.from(trained, (isTrained) => isTrained / tokens),
    advantages: new Float32Array(tokens),
    oldLogprobs: new Float32Array(tokens),
    referenceLogprobs: new Float32Array(0),
  };
}

function relativeDifference(expected: Float32Array, found: Float32Array): number {
  let difference = 0;
  let size = 0;
  expected.forEach((value, i) => {
    difference += (value - found[i]!) ** 2;
    size += value ** 2;
  });
  return Math.sqrt(difference / size);
}
