/**
 * Sums of consecutive probabilities. Of a large vocabulary the runtime's softmax rounds its one long sum so much that it is the
 * largest error of a log-prob; sums of sums take that error out again.
 */
import type { Value } from '../graph/graph.ts';
import { reduce, reshape } from '../graph/ops.ts';
import { blockCount, SAMPLING_BLOCK } from './step-output.ts';

/** Sums of SAMPLING_BLOCK consecutive probabilities: [N, blocks]. */
export function sumBlocks(probabilities: Value, vocabSize: number): Value {
  const { graph } = probabilities;
  const blocks = blockCount(vocabSize);
  const padded = blocks * SAMPLING_BLOCK;
  let full = probabilities;
  if (padded > vocabSize) {
    const pads = graph.integers([0, 0, 0, padded - vocabSize]);
    full = graph.node('Pad', [probabilities, pads], [{ shape: ['N', padded] }])[0]!;
  }
  return reduce('ReduceSum', reshape(full, [-1, blocks, SAMPLING_BLOCK], ['N', blocks, SAMPLING_BLOCK]), -1);
}
