/** Faults of workers that go on afterwards: they stand still, their writes fail, their clocks are moved. */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Boundary, FaultPoint } from './faults/fault-point.ts';
import { isOf } from './faulty-stack.ts';
import type { Durability } from './matrix.ts';
import type { OtherFault } from './other-fault.ts';

/**
 * A worker that stands still at a point until its activity has been done by another one, and then goes on as if nothing had been.
 * Where there is one worker of the pool only, another is started.
 */
export function zombie(activity: string, boundary: Boundary, durability: Durability): OtherFault {
  const isAt = (run: string, point: FaultPoint) => isOf(run, point) && point.activity === activity;
  return {
    name: `SIGSTOP at ${boundary} of ${activity}`,
    durability,
    async make(stack, run) {
      await stack.addWorker([poolOf[activity]!]);
      return stack.faults.arm({
        matches: (point) => isAt(run, point) && point.boundary === boundary,
        async strike({ pid, workflowId }) {
          const stoppedAt = Date.now();
          const successor = stack.faults.arm({
            matches: (point) =>
              isAt(run, point) &&
              point.workflowId === workflowId &&
              point.pid !== pid &&
              point.attempt > 1 &&
              point.boundary === 'before-completion',
            strike: (point) => Promise.resolve({ witness: point }),
          });
          process.kill(pid, 'SIGSTOP');
          while ((await stateOf(pid)) !== 'T') await delay(10);
          const { pid: other, attempt } = await successor;
          await delay(200);
          process.kill(pid, 'SIGCONT');
          const seconds = (Date.now() - stoppedAt) / 1000;
          return {
            witness: `pid ${pid} stood still for ${seconds.toFixed(1)} s; pid ${other} did attempt ${attempt}; pid ${pid} went on`,
          };
        },
      });
    },
  };
}

const poolOf: Record<string, 'cpu' | 'rollout' | 'train'> = {
  updateActor: 'train',
  commitVersion: 'cpu',
  rolloutShard: 'rollout',
  agentTurn: 'rollout',
};

async function stateOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return /\) (\S)/.exec(stat)?.[1];
}

export const failedWrites: OtherFault = {
  name: 'writes to the store that fail',
  durability: 'shard',
  async make(stack, run) {
    const failures = (
      [
        ['rolloutShard', 'before-artifact'],
        ['updateActor', 'before-result'],
        ['commitVersion', 'before-commit'],
      ] as const
    ).map(([activity, boundary]) =>
      stack.faults.arm({
        matches: (point) => isOf(run, point) && point.activity === activity && point.boundary === boundary,
        strike: ({ attempt }) =>
          Promise.resolve({
            witness: `EIO ${boundary} in attempt ${attempt} of ${activity}`,
            order: { do: 'fail-write' } as const,
          }),
      }),
    );
    return (await Promise.all(failures)).join('; ');
  },
};

/** Of the JavaScript of the worker processes; the SDK's native part and the server keep theirs. */
export const movedClocks: OtherFault = {
  name: 'clocks moved by hours',
  durability: 'shard',
  async make(stack, run) {
    const moves = (
      [
        ['prepareBatch', 'before-result', 5],
        ['rolloutShard', 'before-artifact', -7],
        ['updateActor', 'before-artifact', 26],
        ['commitVersion', 'before-commit', -3],
      ] as const
    ).map(([activity, boundary, hours]) =>
      stack.faults.arm({
        matches: (point) => isOf(run, point) && point.activity === activity && point.boundary === boundary,
        strike: ({ pid }) =>
          Promise.resolve({
            witness: `pid ${pid} by ${hours} h`,
            order: { do: 'shift-clock', hours } as const,
          }),
      }),
    );
    return (await Promise.all(moves)).join(', ');
  },
};
