/** The loss of a batch in float64, by the reference forward pass: the oracle for gradients. */
import { evaluateLoss } from '../../core/loss/float64-tape.ts';
import type { TokenLossSettings } from '../../core/loss/settings.ts';
import type { RowBatch } from '../../gpu/engine-port.ts';
import type { DecoderConfig } from '../../gpu/model/decoder-config.ts';
import { weightsLayout, type LayoutHead } from '../../gpu/embedded/weights-layout.ts';
import { logSoftmax, referenceForward, referenceHidden, type ReferenceTensors } from './reference-forward.ts';

/** Flat weights; in double where they come from arithmetic of the test's own. */
type Weights = Float32Array | Float64Array;

export interface ReferenceLoss {
  /** Sum over trained tokens of weight * loss. */
  loss: number;
  /** One a token, 0 where not trained. */
  logprobs: Float64Array;
  /** One a token, 0 where not trained. */
  entropies: Float64Array;
  /** Mean over trained tokens. */
  entropy: number;
  /** Sums over trained tokens of weight * metric. */
  metrics: Record<string, number>;
}

/** Flat weights as tensors under their Hugging Face names. */
export function namedTensors(config: DecoderConfig, weights: Weights, head?: LayoutHead): ReferenceTensors {
  return new Map(
    weightsLayout(config, head).huggingFace.map(({ name, shape, offset, length }) => [
      name,
      { shape, data: weights.subarray(offset, offset + length) },
    ]),
  );
}

/** @param weights flat (see weights-layout.ts) */
export function referenceLoss(
  config: DecoderConfig,
  weights: Weights,
  batch: RowBatch,
  loss: TokenLossSettings,
  temperature: number,
): ReferenceLoss {
  const tensors = namedTensors(config, weights);
  const logprobs = new Float64Array(batch.ids.length);
  const entropies = new Float64Array(batch.ids.length);
  let start = 0;
  for (const length of batch.rowLengths) {
    const ids = [...batch.ids.subarray(start, start + length)];
    const logits = referenceForward(config, tensors, ids);
    for (let t = 1; t < length; t++) {
      if (batch.trained[start + t] !== 1) continue;
      const distribution = logSoftmax(logits[t - 1]!.map((logit) => logit / temperature));
      logprobs[start + t] = distribution[ids[t]!]!;
      entropies[start + t] = -distribution.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0);
    }
    start += length;
  }
  const evaluated = evaluateLoss(loss, { ...batch, logprobs, entropies });
  const sum = (values: Float64Array): number =>
    values.reduce((total, value, t) => total + batch.trained[t]! * batch.weights[t]! * value, 0);
  return {
    loss: sum(evaluated.loss),
    logprobs,
    entropies,
    entropy:
      entropies.reduce((total, value) => total + value, 0) / batch.trained.reduce((sum, t) => sum + t, 0),
    metrics: Object.fromEntries(Object.entries(evaluated.metrics).map(([name, v]) => [name, sum(v)])),
  };
}

/**
 * The score of a value or reward head for each token (length T), read at a position of its row; 0 before the first.
 * @param positionOf From the token's place in its row.
 */
export function referenceScores(
  config: DecoderConfig,
  weights: Weights,
  { ids, rowLengths }: Pick<RowBatch, 'ids' | 'rowLengths'>,
  positionOf: (place: number) => number,
): Float64Array {
  const tensors = namedTensors(config, weights, 'score');
  const score = tensors.get('score.weight')!.data;
  const scores = new Float64Array(ids.length);
  let start = 0;
  for (const length of rowLengths) {
    const hiddenT = referenceHidden(config, tensors, [...ids.subarray(start, start + length)]);
    for (let place = 0; place < length; place++) {
      const hidden = hiddenT[positionOf(place)];
      if (hidden) scores[start + place] = hidden.reduce((sum, x, i) => sum + x * score[i]!, 0);
    }
    start += length;
  }
  return scores;
}
