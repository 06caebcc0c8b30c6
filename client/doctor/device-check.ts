/** What else the engine could compute on, tried for real in a process of its own. */
import type { DeviceName } from '../../core/devices.ts';
import type { DeviceReport } from '../../gpu/devices/device-report.ts';
import { probeDevice } from '../../gpu/devices/probe.ts';
import { broken, info, ok, type Finding } from './check.ts';

/** Larger differences are not rounding. */
const LARGEST_DIFFERENCE = 1e-4;

export async function checkDevice(device: DeviceName): Promise<Finding> {
  return judgeDevice(await probeDevice(device, { depth: 'train' }));
}

/** A device that is not there is nothing broken: the engine works on the CPU. */
export function judgeDevice({ device, available, adapter, reason, hint, difference }: DeviceReport): Finding {
  const name = `device ${device}`;
  if (!available) return info(name, `not available: ${reason}. ${hint}`);
  const driver = adapter ?? 'available';
  const detail = `${driver}; a tiny training step differs from the CPU's by ${difference?.toExponential(0)}, relative`;
  if (difference !== null && difference <= LARGEST_DIFFERENCE) return ok(name, detail);
  return broken(name, detail, 'Update its driver, or use engine.device: cpu.');
}
