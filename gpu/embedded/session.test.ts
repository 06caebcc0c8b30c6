import { describe, expect, it } from 'vitest';
import { Graph } from '../graph/graph.ts';
import { add, matmul, mul } from '../graph/ops.ts';
import { Session, tensor, workingOutputPath, type OutputPath } from './session.ts';

function affineGraph(): Graph {
  const graph = new Graph('affine');
  const x = graph.input('x', ['rows', 2]);
  const w = graph.input('w', [3, 2]);
  graph.output('y', add(mul(matmul(x, w, { transposeB: true }), 2), 1));
  return graph;
}

describe.each<OutputPath>(['in-place', 'copy'])('a session with output path %s', (outputPath) => {
  it('writes results into the tensors of the caller', () => {
    const session = new Session(affineGraph(), { threads: 1, outputPath });
    const y = tensor(new Float32Array(6), [2, 3]);
    const x = tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
    const w = tensor(Float32Array.of(1, 0, 0, 1, 1, 1), [3, 2]);
    session.run({ x, w }, { y });
    expect([...(y.data as Float32Array)]).toEqual([3, 5, 7, 7, 9, 15]);
  });

  it('reads and writes a piece of a larger array', () => {
    const graph = new Graph('increment');
    graph.output('y', add(graph.input('x', ['n']), 1));
    const session = new Session(graph, { threads: 1, outputPath });
    const all = new Float32Array(8);
    const piece = tensor(all.subarray(3, 6), [3]);
    session.run({ x: piece }, { y: piece });
    session.run({ x: piece }, { y: piece });
    expect([...all]).toEqual([0, 0, 0, 2, 2, 2, 0, 0]);
  });

  it('reports an error of the runtime as an EngineError that names the graph', () => {
    const session = new Session(affineGraph(), { threads: 1, outputPath });
    const x = tensor(new Float32Array(3), [1, 3]);
    const w = tensor(new Float32Array(6), [3, 2]);
    const y = tensor(new Float32Array(3), [1, 3]);
    expect(() => session.run({ x, w }, { y })).toThrow(/graph "affine": .*dimensions/i);
  });
});

describe('a session', () => {
  it('finds that the pinned runtime supports in-place outputs', () => {
    expect(workingOutputPath()).toBe('in-place');
  });

  it('refuses a graph that the runtime cannot load', () => {
    const graph = new Graph('broken');
    graph.output('y', graph.node('NoSuchOperator', [graph.input('x', [1])], [{ shape: [1] }])[0]!);
    expect(() => new Session(graph, { threads: 1 })).toThrow(/graph "broken": .*NoSuchOperator/);
  });
});
