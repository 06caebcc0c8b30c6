/**
 * One engine on a device at a time: a file for each device in a folder of this user on this host says which process works on it. Two
 * engines on a GPU would each take its memory for theirs. Processors are shared by the system, so any number of engines use them.
 *
 * The lock belongs to the engine's process, not to its worker: it is free when nothing works on the device any more, however that
 * ended. Stacks of other users, and of containers with a /tmp of their own, are not seen.
 */
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { DeviceName } from '../core/devices.ts';
import { RekindleError } from '../core/errors.ts';
import { ClaimFile } from '../deploy/supervision/claim-file.ts';
import { identify, processIdentitySchema } from '../deploy/supervision/process-identity.ts';
import type { Admission } from '../gpu/embedded/engine-child.ts';

const holderSchema = z.strictObject({
  ...processIdentitySchema.shape,
  /** The worker that the engine belongs to. */
  worker: z.number().int(),
  home: z.string(),
  run: z.string(),
  since: z.string(),
});
type Holder = z.infer<typeof holderSchema>;

export interface DeviceUser {
  home: string;
  run: string;
}

export const deviceFolder = join(tmpdir(), `rekindle-devices-${userInfo().uid}`);

/**
 * Locks a device for an engine that is about to start; until it has a process of its own, the worker's stands for it.
 * @throws RekindleError EngineError that names the holder; the same call succeeds when that has ended.
 */
export function lockDevice(device: DeviceName, { home, run }: DeviceUser, folder = deviceFolder): Admission {
  const name = nameOf(device);
  const file = new ClaimFile(join(folder, `${name}.json`), holderSchema, `Let this user write to ${folder}.`);
  const claim: Holder = {
    ...identify(process.pid)!,
    worker: process.pid,
    home,
    run,
    since: new Date().toISOString(),
  };
  const holder = file.take(claim);
  if (holder !== undefined) throw deviceTaken(name, holder);
  return {
    started(pid) {
      const engine = identify(pid);
      if (engine !== undefined) file.replace({ ...claim, ...engine });
    },
    ended: () => file.release(),
  };
}

function deviceTaken(name: string, { pid, worker, home, run, since }: Holder): RekindleError {
  return new RekindleError(
    'EngineError',
    `device ${name} is taken: engine process ${pid} (worker ${worker}, home ${home}, run ${run}) has worked on it since ${since}`,
    {
      hint:
        'One engine works on a device at a time, and this work waits until that one has ended. ' +
        'Pools rollout and train share an engine when they share a worker process; other stacks need a device of their own.',
    },
  );
}

/** CUDA shows a process only the devices that this variable lists; the engine takes the first. */
function nameOf(device: DeviceName): string {
  const [first = '0'] = device === 'cuda' ? (process.env['CUDA_VISIBLE_DEVICES'] ?? '0').split(',') : [];
  return `${device}-${first.replace(/[^A-Za-z0-9-]/g, '_')}`;
}
