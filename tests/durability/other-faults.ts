/** Faults other than the death of a process, each made in a run of its own: what is made, and how it is seen to have happened. */
import { readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { verifyRun } from '../../store/verify.ts';
import type { Boundary, FaultPoint } from './faults/fault-point.ts';
import { isOf, resultOf, tinyRecipe, type FaultyStack } from './faulty-stack.ts';
import type { Durability } from './matrix.ts';
import type { Outcome } from './outcome.ts';

export interface OtherFault {
  name: string;
  durability: Durability;
  /** Makes the fault while the run goes on; how it was seen. */
  make(stack: FaultyStack, run: string, startAgain: () => Promise<void>): Promise<string>;
}

/** Iterations of each run. */
export const otherFaultIterations = 2;

/** `awaySeconds`: how long the server is away, where that is the fault. */
export function coveringFaults(awaySeconds: number): OtherFault[] {
  return [
    zombie('updateActor', 'before-result', 'shard'),
    serverAway(awaySeconds),
    droppedConnections,
    failedWrites,
    lostDatabase,
    movedClocks,
  ];
}

export function allFaults(awaySeconds: number): OtherFault[] {
  return [
    ...coveringFaults(awaySeconds),
    zombie('commitVersion', 'before-commit', 'shard'),
    zombie('rolloutShard', 'before-artifact', 'shard'),
    zombie('agentTurn', 'before-result', 'turn'),
  ];
}

export async function runWithFault(
  stack: FaultyStack,
  { name, durability, make }: OtherFault,
  undisturbed: readonly string[],
): Promise<Outcome> {
  const run = name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const set = [`rollout.durability=${durability}`, `training.iterations=${otherFaultIterations}`];
  const start = async () => void (await stack.rekindle.train(tinyRecipe, { run, set }));
  const made = make(stack, run, start);
  await start();
  const witness = await made;
  const { weights } = await resultOf(stack.rekindle.run(run));
  return {
    ...{ fault: name, run, witness },
    weightsEqual: weights === undisturbed[otherFaultIterations - 1],
    verification: await verifyRun(stack.store, run, { finished: true }),
  };
}

/**
 * A worker that stands still at a point until its activity has been done by another one, and then goes on as if nothing had been.
 * Where there is one worker of the pool only, another is started.
 */
function zombie(activity: string, boundary: Boundary, durability: Durability): OtherFault {
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

function serverAway(seconds: number): OtherFault {
  return {
    name: `server away for ${seconds} s`,
    durability: 'shard',
    make: (stack, run) =>
      stack.faults.arm({
        matches: (point) =>
          isOf(run, point) && point.activity === 'rolloutShard' && point.boundary === 'before-result',
        async strike() {
          let refused = 0;
          await stack.withoutServer(async () => {
            for (let second = 0; second < seconds; second++) {
              if (await refuses(stack.address)) refused++;
              await delay(1000);
            }
          });
          return refused === seconds ? { witness: `refused connections for ${refused} s` } : undefined;
        },
      }),
  };
}

function refuses(address: string): Promise<boolean> {
  const [host, port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect(Number(port), host);
    socket.once('connect', () => (socket.destroy(), resolve(false)));
    socket.once('error', () => resolve(true));
  });
}

/** The server gets the completion of each of these activities, and the worker never hears of it. */
const droppedConnections: OtherFault = {
  name: 'connections dropped in the midst of calls',
  durability: 'shard',
  async make(stack, run) {
    const cuts = [];
    for (const activity of ['updateActor', 'commitVersion']) {
      cuts.push(
        await stack.faults.arm({
          matches: (point) =>
            isOf(run, point) && point.activity === activity && point.boundary === 'before-completion',
          strike: () => Promise.resolve({ witness: stack.proxy.cutAtNextRequest() }),
        }),
      );
    }
    return `${cuts.length} times all connections reset at a request: ${cuts.join(', ')}`;
  },
};

const failedWrites: OtherFault = {
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

/** In mid-run: what the store has is all that is left. */
const lostDatabase: OtherFault = {
  name: "Temporal's database deleted, the run started again",
  durability: 'shard',
  async make(stack, run, startAgain) {
    const files = await stack.faults.arm({
      matches: (point) =>
        isOf(run, point) && point.activity === 'updateActor' && point.boundary === 'after-result',
      async strike() {
        let deleted = 0;
        await stack.withoutServer(async (databaseFiles) => {
          for (const file of databaseFiles) await rm(file);
          deleted = databaseFiles.length;
        });
        return { witness: deleted };
      },
    });
    if (
      await stack.rekindle
        .run(run)
        .isOpen()
        .catch(() => false)
    )
      throw new Error(`${run} is still known`);
    await startAgain();
    return `${files} files of the database deleted; the server knew of no run ${run}`;
  },
};

/** Of the JavaScript of the worker processes; the SDK's native part and the server keep theirs. */
const movedClocks: OtherFault = {
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
