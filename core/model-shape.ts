/** The sizes and options of a decoder that arithmetic about it needs. */
import { z } from 'zod';
import { adapterModules, type AdapterModule, type AdapterSettings } from './recipe.ts';

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
  tiedHead: z.boolean().describe("The head shares the embedding's matrix"),
  attentionBias: z.boolean().describe('Queries, keys and values have biases'),
  queryKeyNorm: z.boolean().describe('Query and key heads are normalized'),
});
export type ModelShape = z.infer<typeof modelShapeSchema>;

/** The embedded engine takes head sizes that are multiples of this: for these, tests show the same bits in any batch. */
export const headSizeStep = 16;

/** Trainable parameters. */
export function parameterCount(shape: ModelShape): number {
  const { hiddenSize, feedForwardSize, headSize, heads, kvHeads } = shape;
  const attention = 2 * hiddenSize * headSize * (heads + kvHeads);
  const biases = shape.attentionBias ? (heads + 2 * kvHeads) * headSize : 0;
  const feedForward = 3 * hiddenSize * feedForwardSize;
  const norms = 2 * hiddenSize + (shape.queryKeyNorm ? 2 * headSize : 0);
  const matrices = shape.tiedHead ? 1 : 2;
  return (
    matrices * shape.vocabSize * hiddenSize +
    shape.layers * (attention + biases + feedForward + norms) +
    hiddenSize
  );
}

/** Parameters that every token is multiplied with: an embedding that is not the head too is only looked up. */
export function multipliedParameters(shape: ModelShape): number {
  return parameterCount({ ...shape, tiedHead: true });
}

/** Parameters of a low-rank adapter: a pair [rank, inputs] and [outputs, rank] for each target matrix of each layer. */
export function adapterParameters(
  { layers, hiddenSize, feedForwardSize, heads, kvHeads, headSize }: ModelShape,
  { rank, targets }: Pick<AdapterSettings, 'rank' | 'targets'>,
): number {
  const [queries, keys] = [heads * headSize, kvHeads * headSize];
  const sides: Record<AdapterModule, [inputs: number, outputs: number]> = {
    q_proj: [hiddenSize, queries],
    k_proj: [hiddenSize, keys],
    v_proj: [hiddenSize, keys],
    o_proj: [queries, hiddenSize],
    gate_proj: [hiddenSize, feedForwardSize],
    up_proj: [hiddenSize, feedForwardSize],
    down_proj: [feedForwardSize, hiddenSize],
  };
  const adapted: readonly AdapterModule[] = targets === 'all-linear' ? adapterModules : targets;
  const width = adapted.reduce((sum, module) => sum + sides[module][0] + sides[module][1], 0);
  return layers * rank * width;
}
