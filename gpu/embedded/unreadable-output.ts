/** The extra first output that keeps the binding from copying the others (see runInPlace in session.ts): a bfloat16 scalar. */
import type { onnx } from 'onnx-proto';
import { dataTypes } from '../graph/graph.ts';

export const UNREADABLE_OUTPUT = 'unreadable';
const ONE = 'unreadable:one';

/** Puts the unreadable output before the outputs of a model. */
export function addUnreadableOutput(model: onnx.IModelProto): void {
  const graph = model.graph!;
  const { bfloat16, float32 } = dataTypes;
  const rawData = new Uint8Array(Float32Array.of(1).buffer);
  graph.initializer!.push({ name: ONE, dims: [], dataType: float32, rawData });
  graph.node!.push({
    name: UNREADABLE_OUTPUT,
    opType: 'Cast',
    input: [ONE],
    output: [UNREADABLE_OUTPUT],
    attribute: [{ name: 'to', type: 2, i: bfloat16 }],
  });
  graph.output!.unshift({
    name: UNREADABLE_OUTPUT,
    type: { tensorType: { elemType: bfloat16, shape: { dim: [] } } },
  });
}

/** True for the binding's refusal to convert the unreadable output. */
export function isUnreadableOutput(error: unknown): boolean {
  return error instanceof Error && error.message === `Tensor type (${dataTypes.bfloat16}) is not supported.`;
}
