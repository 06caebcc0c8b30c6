/**
 * How much arithmetic and memory traffic a step needs, counted from the shape of the model: the numerators of the engine's
 * figures. They do not depend on how the engine goes about it.
 */
import type { DecoderConfig } from '../../../gpu/model/decoder-config.ts';
import { weightsLayout } from '../../../gpu/embedded/weights-layout.ts';

const FLOAT_BYTES = 4;

/**
 * Floating-point operations (a multiply-add is two) of the matrix products of a forward and backward pass over `rows` rows of
 * `positions` positions, every position trained. A product with a weight matrix is done three times: for its output, for the
 * gradient of its input and for that of the matrix. So are the two products of attention (scores and weighted values),
 * counted over the full square of positions: half of it is masked, and a dense implementation computes it all the same. An engine that
 * leaves the masked half out, or that computes activations anew in the backward pass, is credited with the same count.
 */
export function trainingFlops(
  config: DecoderConfig,
  { rows, positions }: { rows: number; positions: number },
): { linear: number; attention: number } {
  const { layers, heads, kvHeads, headSize, hiddenSize, feedForwardSize, vocabSize } = config;
  const queryWidth = heads * headSize;
  const projections = hiddenSize * (queryWidth + 2 * kvHeads * headSize) + queryWidth * hiddenSize;
  const layerMatrices = projections + 3 * hiddenSize * feedForwardSize;
  const matrices = layers * layerMatrices + vocabSize * hiddenSize;
  const tokens = rows * positions;
  const passes = 3;
  return {
    linear: 2 * passes * tokens * matrices,
    attention: 2 * passes * layers * 2 * tokens * positions * queryWidth,
  };
}

/**
 * Bytes that a decode step must read: every weight once, and the keys and values of `sequences` sequences of `meanLength` tokens,
 * the new one included. The looked-up rows of the embedding are part of the head, which is read in full when it is tied.
 */
export function decodeBytes(
  config: DecoderConfig,
  { sequences, meanLength }: { sequences: number; meanLength: number },
): number {
  const { layers, kvHeads, headSize, tiedHead, vocabSize, hiddenSize } = config;
  const read = weightsLayout(config).parameters - (tiedHead ? 0 : vocabSize * hiddenSize);
  const keysAndValues = 2 * layers * kvHeads * headSize * sequences * meanLength;
  return FLOAT_BYTES * (read + keysAndValues);
}
