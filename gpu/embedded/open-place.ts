import type { DeviceName } from '../../core/devices.ts';
import { WebGpuPlace } from '../devices/webgpu-place.ts';
import { hostPlace, type TensorPlace } from './tensor-place.ts';

/** The place of the tensors that sessions on a device work on. */
export function openPlace(device: DeviceName = 'cpu'): TensorPlace {
  return device === 'webgpu' ? new WebGpuPlace() : hostPlace(device);
}
