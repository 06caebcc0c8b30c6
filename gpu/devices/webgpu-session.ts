/**
 * A session on WebGPU, with the calls of the runtime's own. Resident tensors are fed and fetched where they are; arrays are copied to
 * and from the device. Its graph is brought into standard form.
 *
 * The runtime settles when a session is made which outputs stay on the device, so the session is made by the first run, and
 * every later run must fetch each output to the same side.
 */
import { standardForm } from '../graph/standard-form.ts';
import type { Graph } from '../graph/graph.ts';
import { loadSession, type HostTensor, type LoadOptions, type NativeSession } from '../embedded/runtime.ts';
import { ResidentTensor } from './resident-tensor.ts';

type Tensors = Readonly<Record<string, HostTensor | ResidentTensor>>;

export class WebGpuSession {
  readonly #graph: Graph;
  readonly #options: LoadOptions;
  #native: NativeSession | undefined;

  constructor(graph: Graph, options: LoadOptions) {
    this.#graph = graph;
    this.#options = options;
  }

  run(feeds: Tensors, fetches: Tensors): void {
    this.#native ??= this.#load(fetches);
    const inputs = mapValues(feeds, (fed) => (fed instanceof ResidentTensor ? fed.buffer : fed));
    const results = this.#native.run(
      inputs,
      mapValues(fetches, () => null),
      {},
    );
    for (const [name, target] of Object.entries(fetches)) deliver(name, results[name]!, target);
  }

  endProfiling(): void {
    this.#native?.endProfiling();
  }

  dispose(): void {
    this.#native?.dispose();
  }

  #load(fetches: Tensors): NativeSession {
    return loadSession(standardForm(this.#graph).toModel(), {
      ...this.#options,
      executionProviders: ['webgpu'],
      preferredOutputLocation: mapValues(fetches, (target) =>
        target instanceof ResidentTensor ? 'gpu-buffer' : 'cpu',
      ),
    });
  }
}

function mapValues<To>(
  tensors: Tensors,
  map: (tensor: HostTensor | ResidentTensor) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(tensors).map(([name, one]) => [name, map(one)]));
}

function deliver(name: string, result: HostTensor, target: HostTensor | ResidentTensor): void {
  const onDevice = result.location === 'gpu-buffer';
  if (onDevice !== target instanceof ResidentTensor) {
    throw new Error(`output ${name} was left on the ${onDevice ? 'device' : 'host'} by the first run`);
  }
  const expected = target instanceof ResidentTensor ? target.shape : target.dims;
  const sizeOf = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1);
  if (sizeOf(result.dims) !== sizeOf(expected)) {
    throw new Error(`output ${name} has the shape [${result.dims.join()}], expected [${expected.join()}]`);
  }
  if (target instanceof ResidentTensor) target.replace(result);
  else (target.data as Float32Array).set(result.data as Float32Array);
}
