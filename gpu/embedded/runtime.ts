/** onnxruntime-node as the engine uses it: its synchronous sessions and its tensors. */
import { createRequire } from 'node:module';
import type * as Runtime from 'onnxruntime-node';
import type { Tensor as HostTensor } from 'onnxruntime-node';
import type * as Binding from 'onnxruntime-node/dist/binding.js';
import type { onnx } from 'onnx-proto';
import { encodeModel } from '../graph/graph.ts';

// The runtime reads this once, when its library is loaded.
process.env['ORT_DISABLE_TELEMETRY'] = '1';
const require = createRequire(import.meta.url);
const runtime = require('onnxruntime-node') as typeof Runtime;
const { binding, initOrt } = require('onnxruntime-node/dist/binding.js') as typeof Binding;
initOrt();

export type { HostTensor };
export type TensorData = Float32Array | BigInt64Array | Int32Array | Uint8Array;
export type LoadOptions = Parameters<InstanceType<typeof binding.InferenceSession>['loadModel']>[3];
export type NativeSession = InstanceType<typeof binding.InferenceSession>;

/** A tensor over `data`, without a copy; Uint8Array means bool. */
export function tensor(data: TensorData, shape: readonly number[]): HostTensor {
  if (data instanceof Float32Array) return new runtime.Tensor('float32', data, shape);
  if (data instanceof BigInt64Array) return new runtime.Tensor('int64', data, shape);
  if (data instanceof Int32Array) return new runtime.Tensor('int32', data, shape);
  return new runtime.Tensor('bool', data, shape);
}

/** The same device buffer as a float32 tensor of another shape with as many elements. */
export function reshapedBuffer({ gpuBuffer }: HostTensor, shape: readonly number[]): HostTensor {
  return runtime.Tensor.fromGpuBuffer(gpuBuffer, { dataType: 'float32', dims: [...shape] });
}

/** @throws Error with the runtime's message when it refuses the model or the options. */
export function loadSession(model: onnx.IModelProto, options: LoadOptions): NativeSession {
  const bytes = encodeModel(model);
  const session = new binding.InferenceSession();
  session.loadModel(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength, options);
  return session;
}
