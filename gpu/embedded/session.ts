/**
 * Synchronous onnxruntime sessions on the CPU. Outputs are written into tensors that the caller owns; an output may be the very
 * tensor of an input when the operator that writes it is the last to read it (in-place update).
 *
 * Sessions are never freed reliably by the runtime: create each once and keep it.
 */
import { createRequire } from 'node:module';
import type * as Runtime from 'onnxruntime-node';
import type { Tensor } from 'onnxruntime-node';
import type * as Binding from 'onnxruntime-node/dist/binding.js';
import { RekindleError } from '../../core/errors.ts';
import { encodeModel, Graph } from '../graph/graph.ts';
import { add } from '../graph/ops.ts';
import { addUnreadableOutput, isUnreadableOutput, UNREADABLE_OUTPUT } from './unreadable-output.ts';

// The runtime reads this once, when its library is loaded.
process.env['ORT_DISABLE_TELEMETRY'] = '1';
const require = createRequire(import.meta.url);
const runtime = require('onnxruntime-node') as typeof Runtime;
const { binding, initOrt } = require('onnxruntime-node/dist/binding.js') as typeof Binding;
initOrt();

export type { Tensor };
export type TensorData = Float32Array | BigInt64Array | Int32Array | Uint8Array;

/** How results reach the caller's tensors: without a further copy, or with the copy that the binding makes of each output. */
export type OutputPath = 'in-place' | 'copy';

export interface SessionOptions {
  threads: number;
  /** Default: `in-place` where this runtime's self-test passes, else `copy`. */
  outputPath?: OutputPath;
  /** Writes the runtime's profile to a file whose name starts so; it is completed by `close`. */
  profilePrefix?: string;
}

/** A tensor over `data`, without a copy; Uint8Array means bool. */
export function tensor(data: TensorData, shape: readonly number[]): Tensor {
  if (data instanceof Float32Array) return new runtime.Tensor('float32', data, shape);
  if (data instanceof BigInt64Array) return new runtime.Tensor('int64', data, shape);
  if (data instanceof Int32Array) return new runtime.Tensor('int32', data, shape);
  return new runtime.Tensor('bool', data, shape);
}

export class Session {
  readonly name: string;
  readonly #session;
  readonly #inPlace: boolean;
  readonly #profiling: boolean;

  /** @throws RekindleError EngineError when the runtime refuses the graph. */
  constructor(graph: Graph, options: SessionOptions) {
    this.name = graph.name;
    this.#inPlace = (options.outputPath ?? workingOutputPath()) === 'in-place';
    this.#profiling = options.profilePrefix !== undefined;
    const model = graph.toModel();
    if (this.#inPlace) addUnreadableOutput(model);
    const bytes = encodeModel(model);
    this.#session = new binding.InferenceSession();
    try {
      this.#session.loadModel(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength, {
        intraOpNumThreads: options.threads,
        enableMemPattern: false,
        // The cores are shared with workers and the server: threads that spin while they wait starve both them and each other.
        extra: { session: { intra_op: { allow_spinning: '0' } } },
        logSeverityLevel: 3,
        enableProfiling: this.#profiling,
        ...(options.profilePrefix === undefined ? {} : { profileFilePrefix: options.profilePrefix }),
      });
    } catch (error) {
      throw engineError(this.name, error);
    }
  }

  /**
   * Runs the graph and writes each named output into the given tensor, whose shape must be exact. Blocks the thread.
   * @throws RekindleError EngineError with the runtime's message.
   */
  run(feeds: Readonly<Record<string, Tensor>>, fetches: Readonly<Record<string, Tensor>>): void {
    try {
      if (this.#inPlace) runInPlace(this.#session, feeds, fetches);
      else this.#session.run(feeds, fetches, {});
    } catch (error) {
      throw engineError(this.name, error);
    }
  }

  /** Completes the profile, if any, and releases the session. */
  close(): void {
    if (this.#profiling) this.#session.endProfiling();
    this.#session.dispose();
  }
}

type NativeSession = InstanceType<typeof binding.InferenceSession>;

/**
 * The binding copies every output it returns, even one that it has already written into the caller's tensor. It converts
 * outputs in order and gives up at the first whose type JavaScript has no array for; the graph then has run and our tensors
 * are filled. So such an output stands first, and the complaint about it means success.
 */
function runInPlace(
  session: NativeSession,
  feeds: Readonly<Record<string, Tensor>>,
  fetches: Readonly<Record<string, Tensor>>,
): void {
  try {
    session.run(feeds, { [UNREADABLE_OUTPUT]: null, ...fetches }, {});
  } catch (error) {
    if (isUnreadableOutput(error)) return;
    throw error;
  }
  throw new Error('the runtime returned an output of a type that it used to refuse');
}

function engineError(name: string, error: unknown): RekindleError {
  const reason = error instanceof Error ? error.message : String(error);
  return new RekindleError('EngineError', `onnxruntime, graph "${name}": ${reason}`, { cause: error });
}

let tested: OutputPath | undefined;

/** The output path that this runtime supports, found by running both once on a small in-place update. */
export function workingOutputPath(): OutputPath {
  tested ??= (['in-place', 'copy'] as const).find(updatesInPlace);
  if (tested) return tested;
  throw new RekindleError('EngineError', 'this build of onnxruntime-node does not write into given outputs', {
    hint: 'Install exactly the version of onnxruntime-node that package.json names.',
  });
}

function updatesInPlace(outputPath: OutputPath): boolean {
  const graph = new Graph('output-path-test');
  const x = graph.input('x', ['n']);
  graph.output('y', add(x, 1));
  const data = Float32Array.of(1, 2, 3);
  const view = tensor(data, [3]);
  try {
    const session = new Session(graph, { threads: 1, outputPath });
    session.run({ x: view }, { y: view });
    session.close();
  } catch {
    return false;
  }
  return data.join() === '2,3,4';
}
