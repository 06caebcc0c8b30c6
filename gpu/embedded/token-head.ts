/**
 * From hidden vectors [N, hiddenSize] to the log-prob of a target token each and the entropy of the distribution.
 * Everything is of softmax(logits / temperature).
 */
import type { Tape } from '../graph/autodiff.ts';
import type { Value } from '../graph/graph.ts';
import { accumulateOuter } from '../graph/differentiable.ts';
import * as ops from '../graph/ops.ts';
import { sumBlocks } from './block-sums.ts';

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
  // log-sum-exp = largest logit - log(largest probability / sum of all): exact for unlikely targets too, without another pass
  // of exp. What the sum lacks of 1 is the rounding of the softmax.
  const largest = ops.reduce('ReduceMax', logits, -1, true);
  const total = ops.reduce('ReduceSum', sumBlocks(probabilities, Number(head.shape[0])), -1, true);
  const share = ops.div(ops.reduce('ReduceMax', probabilities, -1, true), total);
  const logSumExp = ops.sub(largest, ops.log(share));
  const shape = targets.shape;
  const [targetLogits] = graph.node('GatherElements', [logits, targets], [{ shape }], { axis: 1 });
  const entropies = ops.sub(logSumExp, rowProducts(probabilities, logits));
  tape.variable(entropies);
  const logprobs = tape.record(ops.sub(targetLogits!, logSumExp), (dLogprobs) => {
    // d logprob / d logits = onehot(target) - p,  d entropy / d logits = -p (log p + entropy)
    const dEntropies = tape.gradient(entropies);
    const addAtTargets = (matrix: Value, values: Value): Value =>
      graph.node('ScatterElements', [matrix, targets, values], [{ shape: logits.shape }], {
        axis: 1,
        reduction: 'add',
      })[0]!;
    if (dEntropies) {
      const slope = ops.add(ops.mul(ops.add(ops.sub(logits, logSumExp), entropies), dEntropies), dLogprobs);
      const dLogits = addAtTargets(ops.mul(probabilities, ops.neg(slope)), dLogprobs);
      accumulateOuter(tape, head, dLogits, scaled);
      tape.accumulate(hidden, ops.mul(ops.matmul(dLogits, head), inverseTemperature));
    } else {
      // Rows of the narrow matrices take the factor -dLogprobs; the wide one is changed in place, at the targets only. That
      // it can be is due to the zeros: they come after all that else reads the probabilities.
      const zeros = ops.mul(entropies, 0);
      const residuals = addAtTargets(probabilities, ops.sub(zeros, 1));
      const factors = ops.neg(dLogprobs);
      accumulateOuter(tape, head, residuals, ops.mul(scaled, factors));
      tape.accumulate(hidden, ops.mul(ops.matmul(residuals, head), ops.mul(factors, inverseTemperature)));
    }
  });
  return { logprobs, entropies };
}

/** The scalar product of each row of a [N, V] with the same row of b: [N, 1]. */
function rowProducts(a: Value, b: Value): Value {
  const [rows, columns] = a.shape;
  const separate = (x: Value): Value => ops.reshape(x, [0, 1, -1], [rows!, 1, columns!]);
  const products = ops.matmul(separate(a), separate(b), { transposeB: true });
  return ops.reshape(products, [-1, 1], [rows!, 1]);
}
