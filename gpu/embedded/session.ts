/**
 * Synchronous onnxruntime sessions. Outputs are written into tensors that the caller owns; an output may be the very
 * tensor of an input when the operator that writes it is the last to read it (in-place update).
 *
 * A session that is closed gives its memory back to the allocator, not at once to the system: create one for a purpose and keep it.
 */
import type { DeviceName } from '../../core/devices.ts';
import { RekindleError } from '../../core/errors.ts';
import type { ResidentTensor } from '../devices/resident-tensor.ts';
import { WebGpuSession } from '../devices/webgpu-session.ts';
import { Graph } from '../graph/graph.ts';
import { add } from '../graph/ops.ts';
import { HostSession, type OutputPath } from './host-session.ts';
import { tensor, type HostTensor } from './runtime.ts';

export { tensor };
export type { OutputPath };
export type { HostTensor, TensorData } from './runtime.ts';

/** A tensor over an array, or one that stays on the device of the sessions that use it. */
export type Tensor = HostTensor | ResidentTensor;

/** Resident tensors come from a WebGPU device only, whose sessions alone are given them. */
type HostTensors = Readonly<Record<string, HostTensor>>;

/** Longer than most waits between two operators of a decode step, much shorter than a time slice of the system. */
const SPIN_MICROSECONDS = '100';

export interface SessionOptions {
  threads: number;
  /** Default: `cpu`. On `cuda`, inputs and outputs cross to the device and back in every run; only `webgpu` takes resident tensors. */
  device?: DeviceName;
  /** On the host. Default: `in-place` where this runtime's self-test passes, else `copy`. */
  outputPath?: OutputPath;
  /** The arrays that the graph's external tensors lie in, by name. The session copies what it needs. */
  externalArrays?: Readonly<Record<string, Float32Array>>;
  /** Threads spin for a moment before they sleep while a run waits for one of them; never between runs. For short operators. */
  spin?: boolean;
  /** Writes the runtime's profile to a file whose name starts so; it is completed by `close`. */
  profilePrefix?: string;
}

export class Session {
  readonly name: string;
  readonly #session: HostSession | WebGpuSession;
  readonly #profiling: boolean;

  /** @throws RekindleError EngineError when the runtime refuses the graph or has no such device. */
  constructor(graph: Graph, options: SessionOptions) {
    this.name = graph.name;
    const { device = 'cpu' } = options;
    this.#profiling = options.profilePrefix !== undefined;
    const loadOptions = {
      intraOpNumThreads: options.threads,
      enableMemPattern: false,
      // The cores are shared with workers and the server: threads that go on spinning after a run starve both them and each other.
      extra: {
        session: options.spin
          ? { intra_op: { spin_duration_us: SPIN_MICROSECONDS }, force_spinning_stop: '1' }
          : { intra_op: { allow_spinning: '0' } },
      },
      logSeverityLevel: 3,
      enableProfiling: this.#profiling,
      ...(options.profilePrefix === undefined ? {} : { profileFilePrefix: options.profilePrefix }),
      ...(device === 'cpu' ? {} : { executionProviders: [device] }),
      externalData: Object.entries(options.externalArrays ?? {}).map(externalFile),
    } as const;
    try {
      this.#session =
        device === 'webgpu'
          ? new WebGpuSession(graph, loadOptions)
          : new HostSession(graph, options.outputPath ?? workingOutputPath(), loadOptions);
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
      if (this.#session instanceof WebGpuSession) this.#session.run(feeds, fetches);
      else this.#session.run(feeds as HostTensors, fetches as HostTensors);
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

function externalFile([path, array]: [string, Float32Array]): { path: string; data: Uint8Array } {
  return { path, data: new Uint8Array(array.buffer, array.byteOffset, array.byteLength) };
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
