/** Where a part of the engine keeps its tensors between runs: in arrays of this process, or in a device's memory. */
import type { DeviceName } from '../../core/devices.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { HostKvCache, type KvCache } from './kv-cache.ts';
import type { Tensor } from './session.ts';

export interface TensorPlace {
  /** For the sessions that work on these tensors. */
  readonly device: DeviceName;
  /** A weight set in this place; the one asked for before, if another, is freed. Tensors that are here already stay where they are. */
  inUse(weights: Readonly<Record<string, Tensor>>): Readonly<Record<string, Tensor>>;
  kvCache(config: DecoderConfig, rows: number, length: number): KvCache;
  close(): void;
}

/** Arrays, for sessions on a device that takes them. */
export function hostPlace(device: 'cpu' | 'cuda'): TensorPlace {
  return {
    device,
    inUse: (weights) => weights,
    kvCache: (config, rows, length) => new HostKvCache(config, rows, length),
    close: () => {},
  };
}
