/**
 * The standard form of a graph: the same function of the same inputs, without the operators that only the CPU runs well. What is
 * left of com.microsoft (RotaryEmbedding, QuickGelu, SkipSimplifiedLayerNormalization) other devices compute correctly too.
 */
import { type Attribute, type Graph, type Node, type Value } from './graph.ts';
import * as ops from './ops.ts';

type Rewrite = (node: Readonly<Node>) => readonly Value[];

const rewrites: Readonly<Record<string, Rewrite>> = {
  FusedMatMul: plainMatmul,
  SimplifiedLayerNormalization: rmsNormalization,
  SkipSimplifiedLayerNormalization: rmsNormalizationOfSum,
  Sum: additions,
  ConstantOfShape: expandedZero,
};

/** A copy of `graph` in standard form. */
export function standardForm(graph: Graph): Graph {
  return graph.rewritten((node) => rewrites[node.operator]?.(node) ?? null);
}

/** Transposes become nodes of their own, and a factor goes onto the product. */
function plainMatmul({ inputs, attributes }: Readonly<Node>): Value[] {
  const [a, b] = inputs as [Value, Value];
  const left = attributes['transA'] === 1 ? swapLastAxes(a) : a;
  const right = attributes['transB'] === 1 ? swapLastAxes(b) : b;
  const product = ops.matmul(left, right);
  const alpha = floatOf(attributes['alpha'], 1);
  return [alpha === 1 ? product : ops.mul(product, alpha)];
}

function swapLastAxes(value: Value): Value {
  const axes = value.shape.map((_, axis) => axis);
  const [last, secondLast] = [axes.pop()!, axes.pop()!];
  return ops.transpose(value, [...axes, last, secondLast]);
}

/** x / sqrt(mean(x²) + epsilon) * weight over the last axis, and 1 / sqrt(mean(x²) + epsilon). */
function rmsNormalization({ inputs, attributes }: Readonly<Node>): Value[] {
  const [x, weight] = inputs as [Value, Value];
  const meanSquare = ops.reduce('ReduceMean', ops.mul(x, x), -1, true);
  const root = ops.sqrt(ops.add(meanSquare, floatOf(attributes['epsilon'], 0)));
  const inverseRoot = ops.div(x.graph.scalar(1), root);
  return [ops.mul(ops.mul(x, inverseRoot), weight), inverseRoot];
}

/** The normalised sum of two tensors, two outputs that nothing uses, and the sum. */
function rmsNormalizationOfSum({ inputs, attributes, ...node }: Readonly<Node>): Value[] {
  const [x, skip, weight] = inputs as [Value, Value, Value];
  const sum = ops.add(x, skip);
  const [normalised, unused] = rmsNormalization({ ...node, inputs: [sum, weight], attributes }) as [
    Value,
    Value,
  ];
  return [normalised, unused, unused, sum];
}

function additions({ inputs }: Readonly<Node>): Value[] {
  return [inputs.map((input) => input!).reduce((sum, term) => ops.add(sum, term))];
}

/** Graphs here fill with zeros only. */
function expandedZero({ inputs, outputs }: Readonly<Node>): Value[] {
  const shape = inputs[0]!;
  return shape.graph.node('Expand', [shape.graph.scalar(0), shape], outputs);
}

function floatOf(attribute: Attribute | undefined, otherwise: number): number {
  return typeof attribute === 'object' && 'float' in attribute ? attribute.float : otherwise;
}
