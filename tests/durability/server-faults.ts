/** Faults of the server and of the way to it. */
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { isOf } from './faulty-stack.ts';
import type { OtherFault } from './other-fault.ts';

export function serverAway(seconds: number): OtherFault {
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
export const droppedConnections: OtherFault = {
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

/** In mid-run: what the store has is all that is left. */
export const lostDatabase: OtherFault = {
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
