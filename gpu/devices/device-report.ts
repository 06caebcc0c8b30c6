/** What a probe found out about a device. */
import type { DeviceName } from '../../core/devices.ts';
import { RekindleError } from '../../core/errors.ts';

export interface DeviceReport {
  device: DeviceName;
  available: boolean;
  /** The driver that computes, where the system tells; a software adapter computes on the CPU, correctly and slowly. */
  adapter: string | null;
  /** Why it is not available, and what can be done. */
  reason: string | null;
  hint: string | null;
  /** Of gradients and stepped weights of a tiny training step from those of the CPU, relative; null when it was not tried. */
  difference: number | null;
}

/** @throws RekindleError EngineError with the reason and hint of a device that is not available */
export function requireAvailable({ device, available, reason, hint }: DeviceReport): void {
  if (available) return;
  throw new RekindleError('EngineError', `engine.device is ${device}: ${reason}`, {
    permanent: true,
    ...(hint === null ? {} : { hint }),
  });
}
