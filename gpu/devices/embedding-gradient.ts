/**
 * Adds the gradients of looked-up embedding rows to the gradient of the embedding, on the device. The gradients of positions with
 * the same id are summed by a matrix product with zeros and ones: always in the same order, unlike a scatter that adds.
 */
import { Graph } from '../graph/graph.ts';
import { add, cast, gatherRows, matmul, reshape } from '../graph/ops.ts';
import { Session, tensor } from '../embedded/session.ts';
import type { ResidentTensor } from './resident-tensor.ts';

export class EmbeddingGradient {
  readonly #session = new Session(embeddingGradientGraph(), { threads: 1, device: 'webgpu' });

  /**
   * @param gradient [vocabSize, hiddenSize], updated
   * @param embedded [ids.length, hiddenSize], the gradient of the row that each position looked up
   */
  add(gradient: ResidentTensor, embedded: ResidentTensor, ids: Int32Array): void {
    const rows = Int32Array.from(new Set(ids)).sort();
    this.#session.run(
      {
        gradient,
        embedded,
        ids: tensor(ids, [1, ids.length]),
        rows: tensor(rows, [rows.length, 1]),
      },
      { updated: gradient },
    );
  }

  close(): void {
    this.#session.close();
  }
}

/** T positions look up U different rows. */
function embeddingGradientGraph(): Graph {
  const graph = new Graph('embedding gradient');
  const gradient = graph.input('gradient', ['V', 'd']);
  const embedded = graph.input('embedded', ['T', 'd']);
  const ids = graph.input('ids', [1, 'T'], 'int32');
  const rows = graph.input('rows', ['U', 1], 'int32');
  const [matches] = graph.node('Equal', [rows, ids], [{ shape: ['U', 'T'], type: 'bool' }]);
  const sums = matmul(cast(matches!, 'float32'), embedded);
  const updatedRows = add(gatherRows(gradient, reshape(rows, [-1], ['U'])), sums);
  const indices = cast(rows, 'int64');
  graph.output(
    'updated',
    graph.node('ScatterND', [gradient, indices, updatedRows], [{ shape: ['V', 'd'] }])[0]!,
  );
  return graph;
}
