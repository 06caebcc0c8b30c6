/** The loss of a batch in float64, by the reference forward pass: the oracle for gradients. */
import { evaluateLoss } from '../../core/loss/float64-tape.ts';
import type { TokenLossSettings } from '../../core/loss/settings.ts';
import type { RowBatch } from '../../gpu/engine-port.ts';
import type { DecoderConfig } from '../../gpu/model/decoder-config.ts';
import type { Tensors } from '../../gpu/model/safetensors.ts';
import { weightsLayout } from '../../gpu/embedded/weights-layout.ts';
import { logSoftmax, referenceForward } from './reference-forward.ts';

export interface ReferenceLoss {
  /** Sum over trained tokens of weight * loss. */
  loss: number;
  /** One a token, 0 where not trained. */
  logprobs: Float64Array;
  /** Mean over trained tokens. */
  entropy: number;
  /** Sums over trained tokens of weight * metric. */
  metrics: Record<string, number>;
}

/** Flat weights as tensors under their Hugging Face names. */
export function namedTensors(config: DecoderConfig, weights: Float32Array): Tensors {
  return new Map(
    weightsLayout(config).huggingFace.map(({ name, shape, offset, length }) => [
      name,
      { shape, data: weights.subarray(offset, offset + length) },
    ]),
  );
}

/** @param weights flat (see weights-layout.ts) */
export function referenceLoss(
  config: DecoderConfig,
  weights: Float32Array,
  batch: RowBatch,
  loss: TokenLossSettings,
  temperature: number,
): ReferenceLoss {
  const tensors = namedTensors(config, weights);
  const logprobs = new Float64Array(batch.ids.length);
  const entropies: number[] = [];
  let start = 0;
  for (const length of batch.rowLengths) {
    const ids = [...batch.ids.subarray(start, start + length)];
    const logits = referenceForward(config, tensors, ids);
    for (let t = 1; t < length; t++) {
      if (batch.trained[start + t] !== 1) continue;
      const distribution = logSoftmax(logits[t - 1]!.map((logit) => logit / temperature));
      logprobs[start + t] = distribution[ids[t]!]!;
      entropies.push(-distribution.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0));
    }
    start += length;
  }
  const evaluated = evaluateLoss(loss, { ...batch, logprobs });
  const sum = (values: Float64Array): number =>
    values.reduce((total, value, t) => total + batch.trained[t]! * batch.weights[t]! * value, 0);
  return {
    loss: sum(evaluated.loss),
    logprobs,
    entropy: entropies.reduce((total, value) => total + value, 0) / entropies.length,
    metrics: Object.fromEntries(Object.entries(evaluated.metrics).map(([name, v]) => [name, sum(v)])),
  };
}
