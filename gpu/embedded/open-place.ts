/** What is kept on a device, by its name. */
import type { DeviceName } from '../../core/devices.ts';
import { ResidentState } from '../devices/resident-state.ts';
import { WebGpuPlace } from '../devices/webgpu-place.ts';
import { HostState } from './host-state.ts';
import { hostPlace, type TensorPlace } from './tensor-place.ts';
import type { TrainedState } from './trained-state.ts';
import type { TrainingPlan } from './training-plan.ts';

/** The place of the tensors that sessions on a device work on. */
export function openPlace(device: DeviceName = 'cpu'): TensorPlace {
  return device === 'webgpu' ? new WebGpuPlace() : hostPlace(device);
}

/** What a plan trains, for the sessions on a device. */
export function openState({ trained, config }: TrainingPlan, device: DeviceName = 'cpu'): TrainedState {
  const State = device === 'webgpu' ? ResidentState : HostState;
  return new State(trained, config.hiddenSize);
}
