/** Tensors in the memory of a WebGPU device. */
import type { KvCache } from '../embedded/kv-cache.ts';
import type { Tensor } from '../embedded/session.ts';
import type { TensorPlace } from '../embedded/tensor-place.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { DeviceMemory } from './device-memory.ts';
import { KvMoves } from './kv-moves.ts';
import { ResidentKvCache } from './resident-kv-cache.ts';
import { ResidentTensor } from './resident-tensor.ts';

type Tensors = Readonly<Record<string, Tensor>>;

export class WebGpuPlace implements TensorPlace {
  readonly device = 'webgpu';
  readonly memory = new DeviceMemory();
  #moves: KvMoves | undefined;
  #inUse: { weights: Tensors; resident: Tensors; uploaded: ResidentTensor[] } | undefined;

  inUse(weights: Tensors): Tensors {
    if (this.#inUse?.weights !== weights) {
      this.#releaseInUse();
      const uploaded: ResidentTensor[] = [];
      const resident = Object.entries(weights).map(([name, tensor]) => {
        if (tensor instanceof ResidentTensor) return [name, tensor] as const;
        const copy = this.memory.resident(tensor.data as Float32Array, tensor.dims);
        uploaded.push(copy);
        return [name, copy] as const;
      });
      this.#inUse = { weights, resident: Object.fromEntries(resident), uploaded };
    }
    return this.#inUse.resident;
  }

  kvCache(config: DecoderConfig, rows: number, length: number): KvCache {
    this.#moves ??= new KvMoves(config);
    const cache = new ResidentKvCache(config, rows, length, this.#moves);
    cache.clear(this.memory);
    return cache;
  }

  close(): void {
    this.#releaseInUse();
    this.#moves?.close();
    this.memory.close();
  }

  #releaseInUse(): void {
    for (const tensor of this.#inUse?.uploaded ?? []) tensor.release();
    this.#inUse = undefined;
  }
}
