/** Moves arrays into the memory of a WebGPU device and out of it. */
import { Graph } from '../graph/graph.ts';
import { identity } from '../graph/ops.ts';
import { Session, tensor } from '../embedded/session.ts';
import { ResidentTensor } from './resident-tensor.ts';

export class DeviceMemory {
  readonly #upload: Session;
  readonly #download: Session;

  constructor() {
    this.#upload = copySession('upload');
    this.#download = copySession('download');
  }

  /** A new resident tensor; its maker releases it. */
  resident(values: Float32Array, shape: readonly number[]): ResidentTensor {
    const created = new ResidentTensor(shape);
    this.write(created, values);
    return created;
  }

  write(target: ResidentTensor, values: Float32Array): void {
    const shape = [values.length];
    this.#upload.run({ x: tensor(values, shape) }, { y: target.reshaped(shape) });
  }

  /** Fills an array of exactly the tensor's size. */
  read(source: ResidentTensor, into: Float32Array): void {
    const shape = [into.length];
    this.#download.run({ x: source.reshaped(shape) }, { y: tensor(into, shape) });
  }

  close(): void {
    this.#upload.close();
    this.#download.close();
  }
}

function copySession(name: string): Session {
  const graph = new Graph(name);
  graph.output('y', identity(graph.input('x', ['n'])));
  return new Session(graph, { threads: 1, device: 'webgpu' });
}
