/** A worker process: polls the task queues of its pools until it is told to stop. It holds no state that a restart would miss. */
import { fileURLToPath } from 'node:url';
import {
  type ActivityInboundCallsInterceptor,
  type NativeConnection,
  Runtime,
  Worker,
  type WorkerOptions as TemporalWorkerOptions,
} from '@temporalio/worker';
import { cpuActivities, envActivities, rolloutActivities, trainActivities } from '../activities/index.ts';
import type { EngineSettings, Services } from '../activities/services.ts';
import type { TemporalPort } from '../activities/watchdog/pending-work.ts';
import { hostQueue, taskQueues, type Pool } from '../core/ids.ts';
import { connectionOptions } from '../deploy/temporal/connection-options.ts';
import type { Engine } from '../gpu/engine-port.ts';
import { openLocalStore } from '../store/local/open-local-store.ts';
import type { Store } from '../store/store.ts';
import { connectPatiently } from './connect-patiently.ts';
import { EngineKeeper } from './engine-keeper.ts';
import { openEnvironmentPrograms } from './environment-programs.ts';
import { activityInterceptor } from './interceptor.ts';
import { RunJournals } from './run-journals.ts';
import { watchServer } from './server-watch.ts';
import { Shutdown, shutdownTimes } from './shutdown.ts';
import { runsFolderOf, storeFolderOf, type WorkerOptions } from './options.ts';

/** What a worker is made of besides its options; tests and benchmarks put others in. */
export interface WorkerParts {
  store(folder: string): Store;
  /** Undefined: embedded engines, each in a process of its own. */
  engine?: (settings: EngineSettings) => Engine;
  /** Around each attempt at an activity and all that the worker does for it. */
  activityInterceptor?: ActivityInboundCallsInterceptor;
}

export async function runWorker(
  options: WorkerOptions,
  parts: WorkerParts = { store: openLocalStore },
): Promise<void> {
  Runtime.install({ shutdownSignals: [] });
  const shutdown = new Shutdown();
  const runsFolder = runsFolderOf(options.home);
  const journals = new RunJournals(runsFolder, options.pools.join('+'));
  const engines = new EngineKeeper(journals, options.home, parts.engine);
  const environments = openEnvironmentPrograms(options.home, runsFolder);
  const services: Services = {
    store: parts.store(storeFolderOf(options.home)),
    runsFolder,
    host: options.host,
    engine: (settings) => engines.get(settings),
    programs: environments.programs,
  };
  try {
    await poll({ options, parts, services, journals, shutdown });
  } catch (error) {
    if (error !== shutdown.signal.reason) throw error; // told to end before it began
  } finally {
    await Promise.all([engines.close(), environments.close()]);
    await journals.close();
  }
}

interface Surroundings {
  options: WorkerOptions;
  parts: WorkerParts;
  services: Services;
  journals: RunJournals;
  shutdown: Shutdown;
}

/** Until the process is told to end. */
async function poll(surroundings: Surroundings): Promise<void> {
  const { options, journals, shutdown } = surroundings;
  const connection = await connectPatiently(connectionOptions(options.address, process.env), shutdown.signal);
  const endWatch = watchServer(connection, journals);
  try {
    const workers = await Promise.all(
      options.pools.flatMap((pool) =>
        queuesOf(pool, options.host).map((queue) => createWorker(pool, queue, connection, surroundings)),
      ),
    );
    await shutdown.run(workers, announce);
  } finally {
    endWatch();
    await connection.close();
  }
}

/** Tells a supervisor that waits for it. */
function announce(): void {
  if (!process.connected) return;
  process.send?.('ready', () => process.disconnect());
}

/** Those of a pool, and of its workers on this host, to which the later turns of an episode come back. */
function queuesOf(pool: Pool, host: string): string[] {
  return pool === 'rollout' || pool === 'env'
    ? [taskQueues[pool], hostQueue(pool, host)]
    : [taskQueues[pool]];
}

function createWorker(
  pool: Pool,
  taskQueue: string,
  connection: NativeConnection,
  { options: { namespace, home }, parts, services, journals, shutdown }: Surroundings,
): Promise<Worker> {
  const outermost = parts.activityInterceptor;
  return Worker.create({
    connection,
    namespace,
    taskQueue,
    identity: `rekindle-${pool}@${process.pid}:${home}`,
    ...shutdownTimes,
    maxHeartbeatThrottleInterval: '5s',
    ...poolOptions(pool, services, { workflowService: connection.workflowService, namespace }),
    ...(pool === 'control'
      ? {}
      : {
          interceptors: {
            activity: [
              ...(outermost ? [() => ({ inbound: outermost })] : []),
              activityInterceptor(pool, journals, shutdown.signal),
            ],
          },
        }),
  });
}

function poolOptions(pool: Pool, services: Services, temporal: TemporalPort): Partial<TemporalWorkerOptions> {
  switch (pool) {
    case 'control':
      return {
        workflowBundle: { codePath: fileURLToPath(new URL('../workflow-bundle.js', import.meta.url)) },
        maxCachedWorkflows: 1200, // the episodes that an iteration has in flight, and some more
        stickyQueueScheduleToStartTimeout: '5s',
      };
    case 'cpu':
      return { activities: cpuActivities(services, temporal), maxConcurrentActivityTaskExecutions: 8 };
    case 'env':
      return { activities: envActivities(services), maxConcurrentActivityTaskExecutions: 64 };
    case 'rollout': // turns of many episodes fill the engine's slots
      return {
        activities: rolloutActivities(services),
        maxConcurrentActivityTaskExecutions: 64,
        // A process that is frozen keeps its polls open, and each swallows an attempt for a heartbeat timeout.
        activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 2 },
      };
    case 'train':
      return { activities: trainActivities(services), maxConcurrentActivityTaskExecutions: 1 };
  }
}
