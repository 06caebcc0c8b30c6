/** The sizes of a Llama-architecture decoder that arithmetic about it needs. */
import { z } from 'zod';

const count = z.number().int().positive();

export const modelShapeSchema = z.object({
  vocabSize: count,
  hiddenSize: count,
  layers: count,
  heads: count,
  kvHeads: count,
  headSize: count,
  feedForwardSize: count,
  maxPositions: count,
});
export type ModelShape = z.infer<typeof modelShapeSchema>;

/** The embedded engine's attention takes head sizes that are multiples of this. */
export const headSizeStep = 16;

/** Trainable parameters; the head shares the embedding's. */
export function parameterCount(shape: ModelShape): number {
  const { hiddenSize, feedForwardSize, headSize, heads, kvHeads } = shape;
  const attention = 2 * hiddenSize * headSize * (heads + kvHeads);
  const feedForward = 3 * hiddenSize * feedForwardSize;
  const norms = 2 * hiddenSize;
  return shape.vocabSize * hiddenSize + shape.layers * (attention + feedForward + norms) + hiddenSize;
}
