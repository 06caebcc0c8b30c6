/** Keeps the frozen pieces of stacked matrices (see training-plan.ts) as they are through optimizer steps on the device. */
import type { TrainedLayout } from '../embedded/training-plan.ts';
import { Session } from '../embedded/session.ts';
import { Graph } from '../graph/graph.ts';
import { add, mul } from '../graph/ops.ts';
import type { DeviceMemory } from './device-memory.ts';
import type { ResidentTensor } from './resident-tensor.ts';
import type { ResidentTensors } from './resident-tensors.ts';

interface HeldTensor {
  name: string;
  offset: number;
  /** 1 where trained, 0 where held. */
  trained: Float32Array;
  mask: ResidentTensor;
  /** The held weights, 0 where trained. */
  kept: ResidentTensor;
  /** Zeros. */
  nothing: ResidentTensor;
}

export class HeldPieces {
  readonly #memory: DeviceMemory;
  readonly #tensors: HeldTensor[];
  #session: Session | undefined;

  constructor({ tensors, held }: TrainedLayout, memory: DeviceMemory) {
    this.#memory = memory;
    this.#tensors = tensors.flatMap(({ name, offset, length }) => {
      const pieces = held.filter((piece) => piece.offset >= offset && piece.offset < offset + length);
      if (pieces.length === 0) return [];
      const trained = new Float32Array(length).fill(1);
      for (const piece of pieces) {
        trained.fill(0, piece.offset - offset, piece.offset - offset + piece.length);
      }
      const zeros = new Float32Array(length);
      const resident = (values: Float32Array) => memory.resident(values, [length]);
      return [
        { name, offset, trained, mask: resident(trained), kept: resident(zeros), nothing: resident(zeros) },
      ];
    });
  }

  /** Remembers the held pieces of flat weights. */
  keep(weights: Float32Array): void {
    for (const { offset, trained, kept } of this.#tensors) {
      this.#memory.write(
        kept,
        trained.map((isTrained, i) => (isTrained ? 0 : weights[offset + i]!)),
      );
    }
  }

  clearGradients(gradients: ResidentTensors): void {
    for (const { name, mask, nothing } of this.#tensors) this.#replace(gradients, name, mask, nothing);
  }

  restore(weights: ResidentTensors): void {
    for (const { name, mask, kept } of this.#tensors) this.#replace(weights, name, mask, kept);
  }

  close(): void {
    for (const { mask, kept, nothing } of this.#tensors)
      for (const one of [mask, kept, nothing]) one.release();
    this.#session?.close();
  }

  #replace(tensors: ResidentTensors, name: string, mask: ResidentTensor, held: ResidentTensor): void {
    this.#session ??= new Session(replacementGraph(), { threads: 1, device: 'webgpu' });
    const x = tensors.tensors.get(name)!.reshaped(mask.shape);
    this.#session.run({ x, mask, held }, { y: x });
  }
}

/** x where the mask is 1, `held` where it is 0. */
function replacementGraph(): Graph {
  const graph = new Graph('held pieces');
  const [x, mask, held] = ['x', 'mask', 'held'].map((name) => graph.input(name, ['n']));
  graph.output('y', add(mul(x!, mask!), held!));
  return graph;
}
