/**
 * From hidden vectors [N, hiddenSize] to the log-prob of a target token each and the entropy of the distribution.
 * Everything is of softmax(logits / temperature).
 */
import type { Tape } from '../graph/autodiff.ts';
import type { Value } from '../graph/graph.ts';
import { accumulateOuter } from '../graph/differentiable.ts';
import * as ops from '../graph/ops.ts';

export interface TokenHead {
  /** [N, 1], in nats. */
  logprobs: Value;
  /** Entropy of the distribution, [N, 1], in nats. */
  entropies: Value;
}

/**
 * @param hidden [N, hiddenSize]
 * @param head [vocabSize, hiddenSize]
 * @param targets int32 [N, 1]
 * @param inverseTemperature scalar
 */
export function tokenHead(
  tape: Tape,
  hidden: Value,
  head: Value,
  targets: Value,
  inverseTemperature: Value,
): TokenHead {
  const { graph } = hidden;
  const scaled = ops.mul(hidden, inverseTemperature);
  const logits = ops.matmul(scaled, head, { transposeB: true });
  const probabilities = ops.softmax(logits);
  // log-sum-exp = largest logit - log(largest probability): exact for unlikely targets too, without another pass of exp.
  const largest = ops.reduce('ReduceMax', logits, -1, true);
  const logSumExp = ops.sub(largest, ops.log(ops.reduce('ReduceMax', probabilities, -1, true)));
  const shape = targets.shape;
  const [targetLogits] = graph.node('GatherElements', [logits, targets], [{ shape }], { axis: 1 });
  const entropies = ops.sub(logSumExp, ops.reduce('ReduceSum', ops.mul(probabilities, logits), -1, true));
  tape.variable(entropies);
  const logprobs = tape.record(ops.sub(targetLogits!, logSumExp), (dLogprobs) => {
    // d logprob / d logits = onehot(target) - p,  d entropy / d logits = -p (log p + entropy)
    const dEntropies = tape.gradient(entropies);
    const slope = dEntropies
      ? ops.add(ops.mul(ops.add(ops.sub(logits, logSumExp), entropies), dEntropies), dLogprobs)
      : dLogprobs;
    const [dLogits] = graph.node(
      'ScatterElements',
      [ops.mul(probabilities, ops.neg(slope)), targets, dLogprobs],
      [{ shape: logits.shape }],
      { axis: 1, reduction: 'add' },
    );
    accumulateOuter(tape, head, dLogits!, scaled);
    tape.accumulate(hidden, ops.mul(ops.matmul(dLogits!, head), inverseTemperature));
  });
  return { logprobs, entropies };
}
