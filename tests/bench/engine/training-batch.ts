/** A batch of rows for measurements of training. */
import type { TokenLossSettings } from '../../../core/loss/settings.ts';
import type { RowBatch, StepSettings } from '../../../gpu/engine-port.ts';

/** The loss of the measurements: the one that GRPO trains with. */
export const loss: TokenLossSettings = { name: 'ppo-clip', clipLow: 0.2, clipHigh: 0.2, kl: null };

/** Small steps: the weights stay ordinary numbers over any number of measurements. */
export const step: StepSettings = {
  learningRate: 1e-5,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0.01,
  gradientClip: 1,
};

/**
 * `rows` rows whose `positions` positions are all trained. A row's last token predicts nothing, so it has one token more than
 * positions. Ids and advantages follow from their index.
 */
export function trainingBatch(rows: number, positions: number, vocabSize: number): RowBatch {
  const tokens = rows * (positions + 1);
  const isFirst = (token: number) => token % (positions + 1) === 0;
  const indices = Array.from({ length: tokens }, (_, token) => token);
  return {
    ids: Int32Array.from(indices, (token) => (token * 7919 + 13) % vocabSize),
    rowLengths: new Int32Array(rows).fill(positions + 1),
    trained: Uint8Array.from(indices, (token) => (isFirst(token) ? 0 : 1)),
    weights: new Float32Array(tokens).fill(1 / (rows * positions)),
    advantages: Float32Array.from(indices, (token) => Math.sin(token)),
    oldLogprobs: new Float32Array(tokens).fill(-Math.log(vocabSize)),
    referenceLogprobs: new Float32Array(0),
  };
}
