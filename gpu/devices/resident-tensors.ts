/** The tensors of a flat array (see weights-layout.ts) in a device's memory, one buffer each. */
import type { TensorSlot } from '../embedded/weights-layout.ts';
import type { DeviceMemory } from './device-memory.ts';
import { ResidentTensor } from './resident-tensor.ts';

export class ResidentTensors {
  readonly tensors: ReadonlyMap<string, ResidentTensor>;
  readonly #slots: readonly TensorSlot[];
  readonly #memory: DeviceMemory;

  /** Starts empty: write before the first use. */
  constructor(slots: readonly TensorSlot[], memory: DeviceMemory) {
    this.#slots = slots;
    this.#memory = memory;
    this.tensors = new Map(slots.map(({ name, shape }) => [name, new ResidentTensor(shape)]));
  }

  /** Feeds or fetches by name, each name given a prefix. */
  named(prefix = ''): Record<string, ResidentTensor> {
    return Object.fromEntries(Array.from(this.tensors, ([name, tensor]) => [prefix + name, tensor]));
  }

  write(flat: Float32Array): void {
    for (const { name, offset, length } of this.#slots) {
      this.#memory.write(this.tensors.get(name)!, flat.subarray(offset, offset + length));
    }
  }

  read(into: Float32Array): Float32Array {
    for (const { name, offset, length } of this.#slots) {
      this.#memory.read(this.tensors.get(name)!, into.subarray(offset, offset + length));
    }
    return into;
  }

  /** Frees the device's memory. */
  release(): void {
    for (const tensor of this.tensors.values()) tensor.release();
  }
}
