#!/usr/bin/env node
/**
 * A worker process: polls the task queues of its pools until it is told to stop. It holds no state that a restart would miss.
 *
 *   node dist/workers/main.js --pools control,cpu --address 127.0.0.1:7233 --namespace default --home .
 */
import { fileURLToPath } from 'node:url';
import {
  type NativeConnection,
  Runtime,
  Worker,
  type WorkerOptions as TemporalWorkerOptions,
} from '@temporalio/worker';
import { cpuActivities, envActivities, rolloutActivities, trainActivities } from '../activities/index.ts';
import type { Services } from '../activities/services.ts';
import { taskQueues, type Pool } from '../core/ids.ts';
import { connectionOptions } from '../deploy/temporal/connection-options.ts';
import { openLocalStore } from '../store/local/open-local-store.ts';
import { connectPatiently } from './connect-patiently.ts';
import { EngineKeeper } from './engine-keeper.ts';
import { activityInterceptor } from './interceptor.ts';
import { RunJournals } from './run-journals.ts';
import { shutdownTimes } from './shutdown-times.ts';
import { parseWorkerOptions, runsFolderOf, storeFolderOf, type WorkerOptions } from './options.ts';

const options = parseWorkerOptions(process.argv.slice(2));
Runtime.install({ shutdownSignals: ['SIGINT', 'SIGTERM', 'SIGQUIT'] });
const runsFolder = runsFolderOf(options.home);
const journals = new RunJournals(runsFolder, options.pools.join('+'));
const engines = new EngineKeeper(journals);
const services: Services = {
  store: openLocalStore(storeFolderOf(options.home)),
  runsFolder,
  engine: (settings) => engines.get(settings),
};
const connection = await connectPatiently(connectionOptions(options.address, process.env));
try {
  const workers = await Promise.all(options.pools.map((pool) => createWorker(pool, connection, options)));
  await Promise.all(workers.map((worker) => worker.run()));
} finally {
  await engines.close();
  await journals.flush();
  await connection.close();
}

function createWorker(
  pool: Pool,
  connection: NativeConnection,
  { namespace, home }: WorkerOptions,
): Promise<Worker> {
  return Worker.create({
    connection,
    namespace,
    taskQueue: taskQueues[pool],
    identity: `rekindle-${pool}@${process.pid}:${home}`,
    ...shutdownTimes,
    maxHeartbeatThrottleInterval: '5s',
    ...poolOptions(pool),
    ...(pool === 'control' ? {} : { interceptors: { activity: [activityInterceptor(pool, journals)] } }),
  });
}

function poolOptions(pool: Pool): Partial<TemporalWorkerOptions> {
  switch (pool) {
    case 'control':
      return {
        workflowBundle: { codePath: fileURLToPath(new URL('../workflow-bundle.js', import.meta.url)) },
        maxCachedWorkflows: 200,
        stickyQueueScheduleToStartTimeout: '5s',
      };
    case 'cpu':
      return { activities: cpuActivities(services), maxConcurrentActivityTaskExecutions: 8 };
    case 'env':
      return { activities: envActivities(services), maxConcurrentActivityTaskExecutions: 64 };
    case 'rollout': // some at a time: what one generates while another is scored and persisted fills the engine's slots
      return { activities: rolloutActivities(services), maxConcurrentActivityTaskExecutions: 16 };
    case 'train':
      return { activities: trainActivities(services), maxConcurrentActivityTaskExecutions: 1 };
  }
}
