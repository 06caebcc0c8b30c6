/** Tensors in the memory of a WebGPU device. */
import type { KvCache } from '../embedded/kv-cache.ts';
import type { HostTensor, Tensor } from '../embedded/session.ts';
import type { TensorPlace } from '../embedded/tensor-place.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { DeviceMemory } from './device-memory.ts';
import { KvMoves } from './kv-moves.ts';
import { ResidentKvCache } from './resident-kv-cache.ts';
import { type ResidentTensor } from './resident-tensor.ts';

type Tensors = Readonly<Record<string, Tensor>>;

export class WebGpuPlace implements TensorPlace {
  readonly device = 'webgpu';
  readonly #memory = new DeviceMemory();
  #moves: KvMoves | undefined;
  #inUse: { weights: Tensors; resident: Record<string, ResidentTensor> } | undefined;

  inUse(weights: Tensors): Tensors {
    if (this.#inUse?.weights !== weights) {
      this.#releaseInUse();
      const resident = Object.entries(weights as Record<string, HostTensor>).map(
        ([name, { data, dims }]) => [name, this.#memory.resident(data as Float32Array, dims)] as const,
      );
      this.#inUse = { weights, resident: Object.fromEntries(resident) };
    }
    return this.#inUse.resident;
  }

  kvCache(config: DecoderConfig, rows: number, length: number): KvCache {
    this.#moves ??= new KvMoves(config);
    const cache = new ResidentKvCache(config, rows, length, this.#moves);
    cache.clear(this.#memory);
    return cache;
  }

  close(): void {
    this.#releaseInUse();
    this.#moves?.close();
    this.#memory.close();
  }

  #releaseInUse(): void {
    for (const tensor of Object.values(this.#inUse?.resident ?? {})) tensor.release();
    this.#inUse = undefined;
  }
}
