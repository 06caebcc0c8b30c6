/**
 * Weights of a new model. Every element is a function of the run seed, the index of its tensor and its own index, so the bytes
 * do not depend on the order or number of draws.
 *
 * Matrices are N(0, 1/fan-in); residual outputs are further divided by sqrt(2 * layers), one for each of the two that a layer
 * adds to the residual stream (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.3).
 * Gains of norms are 1, biases 0.
 */
import type { ModelInitialization } from '../../core/recipe.ts';
import { philox4x32, seedAt, type Seed } from '../../core/seeds.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { decoderTensors, type DecoderTensor } from './decoder-tensors.ts';
import { families } from './families/index.ts';
import { elementCount } from './safetensors-header.ts';
import type { TensorSource } from './safetensors.ts';

const range32 = 0x1_0000_0000;

/**
 * Fills an array with N(0, std^2): element i comes from word pair i/2 of the seed's Philox blocks, by Box-Muller
 * (Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958).
 */
export function fillNormal(target: Float32Array, seed: Seed, std: number): void {
  for (let start = 0; start < target.length; start += 4) {
    const words = philox4x32([start >>> 2, 0, 0, 0], seed);
    for (let pair = 0; pair < 4; pair += 2) {
      // In (0, 1], so that its logarithm is finite.
      const radius = std * Math.sqrt(-2 * Math.log((words[pair as 0 | 2] + 1) / range32));
      const angle = 2 * Math.PI * (words[(pair + 1) as 1 | 3] / range32);
      // A write past the end of a typed array is ignored.
      target[start + pair] = radius * Math.cos(angle);
      target[start + pair + 1] = radius * Math.sin(angle);
    }
  }
}

function standardDeviation({ role, shape }: DecoderTensor, layers: number, embeddingStd: number): number {
  if (role === 'embedding') return embeddingStd;
  const std = 1 / Math.sqrt(shape[1]!);
  return role === 'residual-output' ? std / Math.sqrt(2 * layers) : std;
}

/** The decoder that `model.initialize` asks for. */
export function initialConfig(settings: ModelInitialization, vocabSize: number): DecoderConfig {
  const { attentionBias, queryKeyNorm } = families[settings.family];
  return {
    family: settings.family,
    vocabSize,
    hiddenSize: settings.hiddenSize,
    layers: settings.layers,
    heads: settings.heads,
    kvHeads: settings.kvHeads,
    headSize: settings.headSize,
    feedForwardSize: settings.feedForwardSize,
    ropeTheta: settings.ropeTheta,
    ropeScaling: null,
    normEpsilon: settings.normEpsilon,
    maxPositions: settings.maxPositions,
    tiedHead: settings.tiedHead,
    attentionBias,
    queryKeyNorm,
    attentionWindow: null,
  };
}

/** The initial weights under their Hugging Face names, each made when it is asked for. */
export function initialWeights(
  config: DecoderConfig,
  options: { seed: number; embeddingStd: number },
): TensorSource[] {
  return decoderTensors(config).map((tensor, index) => ({
    name: tensor.name,
    shape: tensor.shape,
    data: () => {
      const data = new Float32Array(elementCount(tensor.shape));
      if (tensor.role === 'norm') return data.fill(1);
      if (tensor.role === 'bias') return data;
      const std = standardDeviation(tensor, config.layers, options.embeddingStd);
      fillNormal(data, seedAt(options.seed, 'initialWeights', index), std);
      return data;
    },
  }));
}
