/** The models and batches that the engine's figures speak of. */
import { plainLlama, type DecoderConfig } from '../../../gpu/model/decoder-config.ts';

export interface BenchModel {
  config: DecoderConfig;
  /** Rows of a training batch and positions in each. */
  trainingRows: number;
  trainingPositions: number;
}

export type ModelName = '15M' | '135M';

export const benchModels: Record<ModelName, BenchModel> = {
  '15M': {
    config: {
      ...plainLlama,
      vocabSize: 32_000,
      hiddenSize: 288,
      layers: 6,
      heads: 6,
      kvHeads: 6,
      headSize: 48,
      feedForwardSize: 768,
      ropeTheta: 10_000,
      normEpsilon: 1e-5,
      maxPositions: 1024,
    },
    trainingRows: 8,
    trainingPositions: 256,
  },
  /** SmolLM2-135M. */
  '135M': {
    config: {
      ...plainLlama,
      vocabSize: 49_152,
      hiddenSize: 576,
      layers: 30,
      heads: 9,
      kvHeads: 3,
      headSize: 64,
      feedForwardSize: 1536,
      ropeTheta: 100_000,
      normEpsilon: 1e-5,
      maxPositions: 8192,
    },
    trainingRows: 4,
    trainingPositions: 256,
  },
};

/** Sequences decoded together, their prompt length, and the tokens that each then samples: contexts of 128 to 176 tokens. */
export const decoding = { sequences: 16, promptTokens: 128, newTokens: 48 };

/** The bars are those of two cores. */
export const THREADS = 2;
