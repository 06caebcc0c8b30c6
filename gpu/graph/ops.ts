/** ONNX operators as functions of values, with their output shapes. None of them records a gradient (see differentiable.ts). */
import { dataTypes, MICROSOFT, type Dimension, type ElementType, type Value } from './graph.ts';

type Operand = Value | number;

function broadcastShape(a: readonly Dimension[], b: readonly Dimension[]): Dimension[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const left = a[a.length - rank + axis] ?? 1;
    const right = b[b.length - rank + axis] ?? 1;
    return left === 1 ? right : left;
  });
}

function binary(operator: string, a: Value, b: Operand, type?: ElementType): Value {
  const right = typeof b === 'number' ? a.graph.scalar(b) : b;
  const shape = broadcastShape(a.shape, right.shape);
  return a.graph.node(operator, [a, right], [{ shape, type: type ?? a.type }])[0]!;
}

function unary(operator: string, a: Value): Value {
  return a.graph.node(operator, [a], [{ shape: a.shape, type: a.type }])[0]!;
}

export const add = (a: Value, b: Operand): Value => binary('Add', a, b);
export const sub = (a: Value, b: Operand): Value => binary('Sub', a, b);
export const mul = (a: Value, b: Operand): Value => binary('Mul', a, b);
export const div = (a: Value, b: Operand): Value => binary('Div', a, b);
export const minimum = (a: Value, b: Operand): Value => binary('Min', a, b);
export const maximum = (a: Value, b: Operand): Value => binary('Max', a, b);
export const greater = (a: Value, b: Operand): Value => binary('Greater', a, b, 'bool');
export const less = (a: Value, b: Operand): Value => binary('Less', a, b, 'bool');
export const lessOrEqual = (a: Value, b: Operand): Value => binary('LessOrEqual', a, b, 'bool');
export const greaterOrEqual = (a: Value, b: Operand): Value => binary('GreaterOrEqual', a, b, 'bool');
export const neg = (a: Value): Value => unary('Neg', a);
export const exp = (a: Value): Value => unary('Exp', a);
export const log = (a: Value): Value => unary('Log', a);
export const sqrt = (a: Value): Value => unary('Sqrt', a);
export const sigmoid = (a: Value): Value => unary('Sigmoid', a);
export const identity = (a: Value): Value => unary('Identity', a);

export function cast(a: Value, type: ElementType): Value {
  return a.graph.node('Cast', [a], [{ shape: a.shape, type }], { to: dataTypes[type] })[0]!;
}

/** `yes` where the condition holds, else `no`. */
export function where(condition: Value, yes: Value, no: Value): Value {
  const shape = broadcastShape(condition.shape, broadcastShape(yes.shape, no.shape));
  return yes.graph.node('Where', [condition, yes, no], [{ shape, type: yes.type }])[0]!;
}

/** Softmax over the last axis. */
export function softmax(a: Value): Value {
  return a.graph.node('Softmax', [a], [{ shape: a.shape }], { axis: -1 })[0]!;
}

export type Reduction = 'ReduceSum' | 'ReduceMean' | 'ReduceMax';

/** Reduces over one axis (negative counts from the end), which is dropped unless `keep`. */
export function reduce(operator: Reduction, a: Value, axis: number, keep = false): Value {
  const reduced = axis < 0 ? axis + a.shape.length : axis;
  const kept: Dimension[] = a.shape.map((size, i) => (i === reduced ? 1 : size));
  const shape = keep ? kept : kept.filter((_, i) => i !== reduced);
  return a.graph.node(operator, [a, a.graph.integers([axis])], [{ shape }], { keepdims: keep ? 1 : 0 })[0]!;
}

/** Reshape; `target` is an int64 vector known at build time (numbers, one may be -1) or at run time (a value). */
export function reshape(a: Value, target: readonly number[] | Value, shape: readonly Dimension[]): Value {
  const to = 'graph' in target ? target : a.graph.integers(target);
  return a.graph.node('Reshape', [a, to], [{ shape, type: a.type }])[0]!;
}

export function transpose(a: Value, permutation: readonly number[]): Value {
  const shape = permutation.map((axis) => a.shape[axis]!);
  return a.graph.node('Transpose', [a], [{ shape, type: a.type }], { perm: permutation })[0]!;
}

export function concat(values: readonly Value[], axis: number, shape: readonly Dimension[]): Value {
  const first = values[0]!;
  return first.graph.node('Concat', values, [{ shape, type: first.type }], { axis })[0]!;
}

/** Splits an axis into parts of the given sizes. */
export function split(a: Value, axis: number, sizes: readonly number[]): Value[] {
  const outputs = sizes.map((size) => ({
    shape: a.shape.map((old, i) => (i === axis ? size : old)),
    type: a.type,
  }));
  return a.graph.node('Split', [a, a.graph.integers(sizes)], outputs, { axis });
}

/** Elements [start, end) of one axis. */
export function slice(a: Value, axis: number, start: number, end: number): Value {
  const { graph } = a;
  const shape = a.shape.map((size, i) => (i === axis ? end - start : size));
  const inputs = [a, graph.integers([start]), graph.integers([end]), graph.integers([axis])];
  return graph.node('Slice', inputs, [{ shape, type: a.type }])[0]!;
}

/** Rows of `a` along axis 0 at integer `indices`. */
export function gatherRows(a: Value, indices: Value): Value {
  const shape = [...indices.shape, ...a.shape.slice(1)];
  return a.graph.node('Gather', [a, indices], [{ shape, type: a.type }], { axis: 0 })[0]!;
}

/** The shape of a tensor as an int64 vector. */
export function shapeOf(a: Value): Value {
  return a.graph.node('Shape', [a], [{ shape: [a.shape.length], type: 'int64' }])[0]!;
}

export interface MatmulOptions {
  transposeA?: boolean;
  transposeB?: boolean;
  /** Factor on the product. */
  alpha?: number;
}

/** Matrix product over the last two axes. Leading axes are those of the operand of higher rank. */
export function matmul(a: Value, b: Value, options: MatmulOptions = {}): Value {
  const { transposeA = false, transposeB = false, alpha = 1 } = options;
  const rows = a.shape.at(transposeA ? -1 : -2)!;
  const columns = b.shape.at(transposeB ? -2 : -1)!;
  const leading = (a.shape.length >= b.shape.length ? a : b).shape.slice(0, -2);
  const outputs = [{ shape: [...leading, rows, columns] }];
  if (!transposeA && !transposeB && alpha === 1) return a.graph.node('MatMul', [a, b], outputs)[0]!;
  const attributes = { transA: Number(transposeA), transB: Number(transposeB), alpha: { float: alpha } };
  return a.graph.node('FusedMatMul', [a, b], outputs, attributes, MICROSOFT)[0]!;
}
