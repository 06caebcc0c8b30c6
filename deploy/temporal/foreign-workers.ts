/**
 * Two homes on one machine must not share a Temporal server by accident: their workers would take each other's work and
 * write it into two stores. A worker's identity names its process and its home.
 */
import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { Connection } from '@temporalio/client';
import { RekindleError } from '../../core/errors.ts';
import { pools, taskQueues } from '../../core/ids.ts';
import { identify } from '../supervision/process-identity.ts';

/** Numbers of the API's enum TaskQueueType. */
const taskQueueTypes = { workflow: 1, activity: 2 } as const;

/** Throws PortError when a worker of this machine polls for another home that has a store of its own. */
export async function refuseForeignWorkers(
  { workflowService }: Pick<Connection, 'workflowService'>,
  { address, namespace, home }: { address: string; namespace: string; home: string },
): Promise<void> {
  const descriptions = await Promise.all(
    pools.map((pool) =>
      workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: taskQueues[pool] },
        taskQueueType: pool === 'control' ? taskQueueTypes.workflow : taskQueueTypes.activity,
      }),
    ),
  );
  for (const { identity } of descriptions.flatMap(({ pollers }) => pollers ?? [])) {
    const [, pid, other] = /^rekindle-[a-z]+@(\d+):(.+)$/s.exec(identity ?? '') ?? [];
    // The server remembers a poller for minutes after its end.
    if (other === undefined || storeOf(other) === storeOf(home) || !identify(Number(pid))) continue;
    throw new RekindleError(
      'PortError',
      `the Temporal server at ${address} works for another folder, ${other} (worker pid ${pid}); expected one for ${home}`,
      {
        hint: `Use that folder with --home ${JSON.stringify(other)}, end its processes, or set REKINDLE_TEMPORAL_PORT to a free port.`,
      },
    );
  }
}

/** Homes whose `runs` are links to one folder have one store. */
function storeOf(home: string): string {
  const runs = path.join(home, 'runs');
  try {
    return realpathSync(runs);
  } catch {
    return runs;
  }
}
