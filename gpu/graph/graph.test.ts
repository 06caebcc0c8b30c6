import { describe, expect, it } from 'vitest';
import { encodeModel, Graph } from './graph.ts';
import { add, mul } from './ops.ts';

describe('a graph', () => {
  it('refuses a name that is used twice, and one that could collide with inner values', () => {
    const graph = new Graph('names');
    const x = graph.input('x', ['n']);
    expect(() => graph.input('x', ['n'])).toThrow(/"x" is used twice/);
    expect(() => graph.output('x', add(x, 1))).toThrow(/"x" is used twice/);
    expect(() => graph.input('Add:0', ['n'])).toThrow(/contains a colon/);
  });

  it('names an output without another node, unless the value is an input or has a name already', () => {
    const graph = new Graph('outputs');
    const x = graph.input('x', ['n']);
    const sum = add(x, 1);
    graph.output('sum', sum);
    graph.output('sumAgain', sum);
    graph.output('input', x);
    const { node, output } = graph.toModel().graph!;
    expect(node!.map(({ opType }) => opType)).toEqual(['Add', 'Identity', 'Identity']);
    expect(output!.map(({ name }) => name)).toEqual(['sum', 'sumAgain', 'input']);
    expect(node![1]!.input).toEqual(['sum']);
  });

  it('leaves out nodes that no output needs', () => {
    const graph = new Graph('unneeded');
    const x = graph.input('x', ['n']);
    const used = add(x, 1);
    mul(mul(used, 2), 3);
    graph.output('y', mul(used, used));
    expect(graph.toModel().graph!.node!.map(({ opType }) => opType)).toEqual(['Add', 'Mul']);
  });

  it('stores equal constants once', () => {
    const graph = new Graph('constants');
    graph.output('y', mul(add(graph.input('x', ['n']), 2), 2));
    expect(graph.toModel().graph!.initializer).toHaveLength(1);
  });

  it('has the same bytes each time it is built', () => {
    const build = (): Uint8Array => {
      const graph = new Graph('bytes');
      graph.output('y', add(graph.input('x', ['n', 3]), 0.5));
      return encodeModel(graph.toModel());
    };
    expect(build()).toEqual(build());
  });
});
