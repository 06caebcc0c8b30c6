/**
 * What the machine can do, measured through the same runtime, sessions and threads as the engine's own work, next to it.
 */
import { Session, tensor } from '../../../gpu/embedded/session.ts';
import { Graph } from '../../../gpu/graph/graph.ts';
import { matmul, reduce } from '../../../gpu/graph/ops.ts';
import { median } from '../statistics.ts';

export interface Reference {
  what: string;
  /** Units of work a second. */
  measure: () => number;
}

/** Flop/s of a float32 product of two 2048 x 2048 matrices; the median of a few. */
export function matrixProductRate(threads: number): Reference {
  const size = 2048;
  const graph = new Graph('matrix product');
  graph.output('c', matmul(graph.input('a', [size, size]), graph.input('b', [size, size])));
  const session = new Session(graph, { threads });
  const matrix = () => tensor(new Float32Array(size * size).fill(0.5), [size, size]);
  const [a, b, c] = [matrix(), matrix(), matrix()];
  const run = () => session.run({ a, b }, { c });
  run();
  return {
    what: "onnxruntime's rate of 2048 x 2048 x 2048 float32 products",
    measure: () => (2 * size ** 3) / median(times(5, run)),
  };
}

/**
 * Bytes a second read from memory: the maxima of 32,768 rows of 4,096 floats. Of the runtime's reductions and matrix-vector products
 * this one reads fastest, as fast as a C loop on the same number of threads; 512 MiB are more than any cache holds. The
 * fastest of a few, since whatever disturbs it only slows it down.
 */
export function memoryReadRate(threads: number): Reference {
  const [rows, columns] = [32_768, 4096];
  const graph = new Graph('memory read');
  graph.output('maxima', reduce('ReduceMax', graph.input('x', [rows, columns]), -1));
  const session = new Session(graph, { threads });
  const x = tensor(new Float32Array(rows * columns).fill(0.5), [rows, columns]);
  const maxima = tensor(new Float32Array(rows), [rows]);
  const run = () => session.run({ x }, { maxima });
  run();
  return {
    what: 'the rate at which row maxima of 512 MiB are read',
    measure: () => (4 * rows * columns) / Math.min(...times(5, run)),
  };
}

/** Seconds of each of `count` runs. */
function times(count: number, run: () => void): number[] {
  return Array.from({ length: count }, () => {
    const began = performance.now();
    run();
    return (performance.now() - began) / 1000;
  });
}
