/** Each operator's values against float64 code written for this test, and its gradient against central differences of that code. */
import { describe, expect, it } from 'vitest';
import { seedAt, uniformAt } from '../../core/seeds.ts';
import { Session, tensor } from '../embedded/session.ts';
import { Tape } from './autodiff.ts';
import * as elementwise from './differentiable-elementwise.ts';
import * as differentiable from './differentiable.ts';
import { Graph, type Value } from './graph.ts';

interface Case {
  name: string;
  /** Shapes of the variables. */
  shapes: number[][];
  outputShape: number[];
  build: (tape: Tape, inputs: Value[], graph: Graph) => Value;
  reference: (inputs: Float64Array[]) => number[];
  /** Range of the random inputs; default [-1, 1]. */
  range?: [number, number];
}

const size = (shape: number[]): number => shape.reduce((product, length) => product * length, 1);
const indices = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

function random(length: number, stream: number, [low, high]: [number, number] = [-1, 1]): Float64Array {
  const seed = seedAt(7, 'heldOut', stream);
  return Float64Array.from({ length }, (_, i) => Math.fround(low + (high - low) * uniformAt(seed, i)));
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return indices(a.length).reduce((sum, i) => sum + a[i]! * b[i]!, 0);
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

function softmaxOf(scores: number[]): number[] {
  const total = scores.reduce((sum, score) => sum + Math.exp(score), 0);
  return scores.map((score) => Math.exp(score) / total);
}

/** Causal attention with 2 query heads on 1 key head: q [1, 1, 2 * 3, 2], k and v [1, 1, 3, 2]. */
function attentionReference([q, k, v]: Float64Array[]): number[] {
  return indices(6).flatMap((row) => {
    const seen = indices((row % 3) + 1);
    const scores = seen.map(
      (key) => 0.5 * dot(q!.slice(row * 2, row * 2 + 2), k!.slice(key * 2, key * 2 + 2)),
    );
    const probabilities = softmaxOf(scores);
    return [0, 1].map((d) => seen.reduce((sum, key) => sum + probabilities[key]! * v![key * 2 + d]!, 0));
  });
}

function causalMask(): Float32Array {
  return Float32Array.from({ length: 18 }, (_, i) => (i % 3 > Math.floor(i / 3) % 3 ? -1e9 : 0));
}

/** Rotation of x [1, 1, 2, 4] by angles 0.3 and 0.7 times the position. */
function rotaryReference([x]: Float64Array[]): number[] {
  return indices(8).map((index) => {
    const position = Math.floor(index / 4);
    const angle = position * (index % 2 === 0 ? 0.3 : 0.7);
    const partner = index % 4 < 2 ? -x![index + 2]! : x![index - 2]!;
    return x![index]! * Math.cos(angle) + partner * Math.sin(angle);
  });
}

function rotaryTables(graph: Graph): differentiable.RotaryTables {
  const angles = [0, 0, 0.3, 0.7];
  return {
    start: graph.integers([0]),
    cos: graph.initializer('cos', [2, 2], Float32Array.from(angles, Math.cos)),
    sin: graph.initializer('sin', [2, 2], Float32Array.from(angles, Math.sin)),
    negativeSin: graph.initializer(
      'negativeSin',
      [2, 2],
      Float32Array.from(angles, (a) => -Math.sin(a)),
    ),
  };
}

const elementwiseCases: Case[] = (
  [
    ['add', (a, b) => a + b],
    ['sub', (a, b) => a - b],
    ['mul', (a, b) => a * b],
    ['minimum', Math.min],
    ['maximum', Math.max],
  ] as const satisfies [string, (a: number, b: number) => number][]
).map(([name, of]) => ({
  name,
  shapes: [
    [4, 1],
    [4, 1],
  ],
  outputShape: [4, 1],
  build: (tape, [a, b]) => elementwise[name](tape, a!, b!),
  reference: ([a, b]) => indices(4).map((i) => of(a![i]!, b![i]!)),
}));

const unaryCases: Case[] = (
  [
    ['neg', (a) => -a],
    ['exp', Math.exp],
    ['log', Math.log],
  ] as const satisfies [string, (a: number) => number][]
).map(([name, of]) => ({
  name,
  shapes: [[4, 1]],
  outputShape: [4, 1],
  range: [0.5, 2],
  build: (tape, [a]) => elementwise[name](tape, a!),
  reference: ([a]) => indices(4).map((i) => of(a![i]!)),
}));

const cases: Case[] = [
  ...elementwiseCases,
  ...unaryCases,
  {
    name: 'linear',
    shapes: [
      [3, 4],
      [2, 4],
    ],
    outputShape: [3, 2],
    build: (tape, [x, w]) => differentiable.linear(tape, x!, w!),
    reference: ([x, w]) =>
      indices(6).map((i) => {
        const [row, column] = [Math.floor(i / 2), i % 2];
        return dot(x!.slice(row * 4, row * 4 + 4), w!.slice(column * 4, column * 4 + 4));
      }),
  },
  {
    name: 'a weight used twice',
    shapes: [
      [3, 2],
      [2, 2],
    ],
    outputShape: [3, 2],
    build: (tape, [x, w]) => differentiable.linear(tape, differentiable.linear(tape, x!, w!), w!),
    reference: ([x, w]) => {
      const apply = (v: number[]): number[] => [0, 1].map((row) => dot(v, w!.slice(row * 2, row * 2 + 2)));
      return indices(3).flatMap((row) => apply(apply([...x!.slice(row * 2, row * 2 + 2)])));
    },
  },
  {
    name: 'addition of a value to itself',
    shapes: [[3, 2]],
    outputShape: [3, 2],
    build: (tape, [x]) => differentiable.addition(tape, x!, x!),
    reference: ([x]) => [...x!].map((value) => 2 * value),
  },
  {
    name: 'rmsNorm',
    shapes: [[3, 4], [4]],
    outputShape: [3, 4],
    build: (tape, [x, w]) => differentiable.rmsNorm(tape, x!, w!, 0.01),
    reference: ([x, w]) =>
      indices(12).map((i) => {
        const row = x!.slice(i - (i % 4), i - (i % 4) + 4);
        return (x![i]! / Math.sqrt(dot(row, row) / 4 + 0.01)) * w![i % 4]!;
      }),
  },
  {
    name: 'rotary',
    shapes: [[1, 1, 2, 4]],
    outputShape: [1, 1, 2, 4],
    build: (tape, [x], graph) => differentiable.rotary(tape, x!, rotaryTables(graph)),
    reference: rotaryReference,
  },
  {
    name: 'attention',
    shapes: [
      [1, 1, 6, 2],
      [1, 1, 3, 2],
      [1, 1, 3, 2],
    ],
    outputShape: [1, 1, 6, 2],
    build: (tape, [q, k, v], graph) =>
      differentiable.attention(tape, q!, k!, v!, graph.initializer('mask', [1, 1, 6, 3], causalMask()), 0.5),
    reference: attentionReference,
  },
  {
    name: 'swiglu',
    shapes: [
      [2, 3],
      [2, 3],
    ],
    range: [-3, 3],
    outputShape: [2, 3],
    build: (tape, [gate, up]) => differentiable.swiglu(tape, gate!, up!),
    reference: ([gate, up]) => indices(6).map((i) => gate![i]! * sigmoid(gate![i]!) * up![i]!),
  },
  {
    name: 'reshape and transpose',
    shapes: [[4, 6]],
    outputShape: [2, 3, 2, 2],
    build: (tape, [x]) => {
      const separate = differentiable.reshape(tape, x!, [2, 2, 3, 2], [2, 2, 3, 2], [-1, 6]);
      return differentiable.transpose(tape, separate, [0, 2, 1, 3]);
    },
    reference: ([x]) =>
      indices(24).map((i) => {
        const [b, h, s, d] = [Math.floor(i / 12), Math.floor(i / 4) % 3, Math.floor(i / 2) % 2, i % 2];
        return x![b * 12 + s * 6 + h * 2 + d]!;
      }),
  },
  {
    name: 'splitColumns',
    shapes: [[2, 5]],
    outputShape: [2, 2],
    build: (tape, [x]) => {
      const [a, b, c] = differentiable.splitColumns(tape, x!, [2, 2, 1]);
      return elementwise.add(
        tape,
        elementwise.mul(tape, a!, b!),
        differentiable.linear(tape, c!, two(x!.graph)),
      );
    },
    reference: ([x]) =>
      indices(4).map((i) => {
        const [row, column] = [Math.floor(i / 2) * 5, i % 2];
        return x![row + column]! * x![row + 2 + column]! + 2 * x![row + 4]!;
      }),
  },
  {
    name: 'selectRows',
    shapes: [[4, 2]],
    outputShape: [2, 2],
    build: (tape, [x], graph) =>
      differentiable.selectRows(tape, x!, graph.initializer('rows', [2], Int32Array.of(3, 1))),
    reference: ([x]) => [x![6]!, x![7]!, x![2]!, x![3]!],
  },
];

/** The matrix [2, 1] of twos. */
const two = (graph: Graph): Value => graph.constant([2, 1], Float32Array.of(2, 2));

/** The value, and the gradients of sum(value * coefficients). */
function runCase({ shapes, outputShape, build }: Case, inputs: Float64Array[], coefficients: Float64Array) {
  const graph = new Graph('case');
  const tape = new Tape();
  const values = shapes.map((shape, i) => graph.input(`x${i}`, shape));
  for (const value of values) tape.variable(value);
  const seed = graph.input('seed', outputShape);
  const output = build(tape, values, graph);
  tape.backward(output, seed);
  graph.output('y', output);
  values.forEach((value, i) => graph.output(`g${i}`, tape.gradient(value)!));

  const y = new Float32Array(size(outputShape));
  const gradients = shapes.map((shape) => new Float32Array(size(shape)));
  const feeds = { seed: tensor(Float32Array.from(coefficients), outputShape) };
  const fetches = { y: tensor(y, outputShape) };
  shapes.forEach((shape, i) => {
    Object.assign(feeds, { [`x${i}`]: tensor(Float32Array.from(inputs[i]!), shape) });
    Object.assign(fetches, { [`g${i}`]: tensor(gradients[i]!, shape) });
  });
  const session = new Session(graph, { threads: 1 });
  session.run(feeds, fetches);
  session.close();
  return { y, gradients };
}

describe.each(cases)('$name', (testCase) => {
  const inputs = testCase.shapes.map((shape, i) => random(size(shape), i, testCase.range));
  const coefficients = random(size(testCase.outputShape), 50);
  const { y, gradients } = runCase(testCase, inputs, coefficients);

  it('computes the value of the float64 reference', () => {
    const expected = testCase.reference(inputs);
    expect(y.length).toBe(expected.length);
    expected.forEach((value, i) => expect(y[i]).toBeCloseTo(value, 5));
  });

  it('has the gradient of central differences in every direction', () => {
    const step = 1e-5;
    gradients.forEach((gradient, variable) => {
      gradient.forEach((value, element) => {
        const moved = (by: number): number =>
          dot(
            testCase.reference(
              inputs.map((x, i) => (i === variable ? x.map((v, j) => (j === element ? v + by : v)) : x)),
            ),
            coefficients,
          );
        expect(value).toBeCloseTo((moved(step) - moved(-step)) / (2 * step), 5);
      });
    });
  });
});

describe('minimum and maximum', () => {
  it.each(['minimum', 'maximum'] as const)('%s gives the gradient of a tie to the first operand', (name) => {
    const testCase = elementwiseCases.find((candidate) => candidate.name === name)!;
    const equal = Float64Array.of(1, 1, 1, 1);
    const { gradients } = runCase(testCase, [equal, equal], Float64Array.of(1, 2, 3, 4));
    expect(gradients.map((gradient) => [...gradient])).toEqual([
      [1, 2, 3, 4],
      [0, 0, 0, 0],
    ]);
  });
});

describe('parameters of a tape', () => {
  it('add their gradients to what was accumulated, in place, in whatever order the backward pass is held to', () => {
    const graph = new Graph('accumulation');
    const tape = new Tape();
    const x = graph.input('x', [2, 2]);
    const w = graph.input('w', [2, 2]);
    const v = graph.input('v', [2, 2]);
    tape.parameter(w, graph.input('accumulatedW', [2, 2]));
    tape.parameter(v, graph.input('accumulatedV', [2, 2]));
    const never = graph.input('never', [], 'bool');
    const hidden = differentiable.linear(tape, x, w);
    tape.orderBackward(hidden, never);
    tape.backward(differentiable.linear(tape, hidden, v), graph.input('seed', [2, 2]));
    graph.output('gradientW', tape.gradient(w)!);
    graph.output('gradientV', tape.gradient(v)!);

    const square = (...values: number[]) => tensor(Float32Array.from(values), [2, 2]);
    const [gradientW, gradientV] = [square(100, 0, 0, 0), square(0, 0, 0, 200)];
    const session = new Session(graph, { threads: 1 });
    session.run(
      {
        x: square(1, 2, 3, 4),
        w: square(1, 0, 0, 1),
        v: square(2, 0, 0, 3),
        accumulatedW: gradientW,
        accumulatedV: gradientV,
        never: tensor(Uint8Array.of(0), []),
        seed: square(1, 0, 0, 1),
      },
      { gradientW, gradientV },
    );
    expect([...(gradientV.data as Float32Array)]).toEqual([1, 2, 3, 204]);
    expect([...(gradientW.data as Float32Array)]).toEqual([102, 4, 9, 12]);
  });
});

describe('the gradient of a weight matrix', () => {
  it.each([3, 5001])('is dy^T x, added in place to what was gathered, for %i rows', (rows) => {
    const graph = new Graph('outer product');
    const tape = new Tape();
    const weight = graph.input('weight', [rows, 2]);
    tape.parameter(weight, graph.input('accumulated', [rows, 2]));
    differentiable.accumulateOuter(tape, weight, graph.input('dy', ['T', rows]), graph.input('x', ['T', 2]));
    graph.output('gradient', tape.gradient(weight)!);
    const [dy, x, accumulated] = [3 * rows, 6, 2 * rows].map((length, i) => random(length, 70 + i));
    const expected = accumulated!.map((value, i) => {
      const [row, column] = [Math.floor(i / 2), i % 2];
      return [0, 1, 2].reduce((sum, t) => sum + dy![t * rows + row]! * x![t * 2 + column]!, value);
    });

    const gradient = tensor(Float32Array.from(accumulated!), [rows, 2]);
    const session = new Session(graph, { threads: 1 });
    session.run(
      {
        dy: tensor(Float32Array.from(dy!), [3, rows]),
        x: tensor(Float32Array.from(x!), [3, 2]),
        weight: gradient,
        accumulated: gradient,
      },
      { gradient },
    );
    session.close();
    const worst = (gradient.data as Float32Array).reduce(
      (most, value, i) => Math.max(most, Math.abs(value - expected[i]!)),
      0,
    );
    expect(worst).toBeLessThan(1e-6);
  });
});
