import { describe, expect, it } from 'vitest';
import { decoderRuns, relativeDifference, type DecoderRun } from '../../tests/fixtures/decoder-runs.ts';
import { tinyFamilies } from '../../tests/fixtures/tiny-families.ts';
import { Session, tensor, type HostTensor } from '../embedded/session.ts';
import { Graph } from './graph.ts';
import { matmul } from './ops.ts';
import { standardForm } from './standard-form.ts';

function run(graph: Graph, { feeds, fetches }: Omit<DecoderRun, 'graph'>): Map<string, Float32Array> {
  const session = new Session(graph, { threads: 1 });
  session.run(feeds, fetches);
  session.close();
  return new Map(
    Object.entries(fetches).map(([name, { data }]) => [name, Float32Array.from(data as Float32Array)]),
  );
}

const operatorsOf = (graph: Graph) => new Set(graph.toModel().graph!.node!.map(({ opType }) => opType));

describe('the standard form', () => {
  it.each(Object.entries(tinyFamilies))('gives the results of every graph of %s', (_, config) => {
    for (const decoderRun of decoderRuns(config)) {
      const standard = standardForm(decoderRun.graph);
      expect(operatorsOf(standard).has('FusedMatMul')).toBe(false);
      expect(operatorsOf(standard).has('SimplifiedLayerNormalization')).toBe(false);
      const expected = run(decoderRun.graph, decoderRun);
      const results = run(standard, decoderRun);
      for (const [name, values] of expected) {
        const difference = relativeDifference(values, results.get(name)!);
        expect(difference, `${decoderRun.graph.name}: ${name}`).toBeLessThanOrEqual(1e-6);
      }
    }
  });

  it.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ])('transposes (%s, %s) and scales the operands of a batched product', (transposeA, transposeB) => {
    const graph = new Graph('product');
    const shapes = { a: [2, ...(transposeA ? [5, 3] : [3, 5])], b: [2, ...(transposeB ? [4, 5] : [5, 4])] };
    const [a, b] = [graph.input('a', shapes.a), graph.input('b', shapes.b)];
    graph.output('y', matmul(a, b, { transposeA, transposeB, alpha: 0.25 }));
    const filled = (shape: number[], step: number): HostTensor =>
      tensor(
        Float32Array.from({ length: shape.reduce((x, y) => x * y, 1) }, (_, i) => Math.sin(i * step)),
        shape,
      );
    const product = {
      feeds: { a: filled(shapes.a, 1), b: filled(shapes.b, 2) },
      fetches: { y: tensor(new Float32Array(24), [2, 3, 4]) },
    };
    const expected = run(graph, product).get('y')!;
    expect(relativeDifference(expected, run(standardForm(graph), product).get('y')!)).toBeLessThanOrEqual(
      1e-6,
    );
  });

  it('keeps names and order of inputs and outputs', () => {
    const [{ graph }] = decoderRuns(tinyFamilies.llama) as [DecoderRun];
    const standard = standardForm(graph);
    for (const side of ['inputs', 'outputs'] as const) {
      expect(standard[side].map(({ name }) => name)).toEqual(graph[side].map(({ name }) => name));
    }
  });
});
