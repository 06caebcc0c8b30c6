/**
 * How workflows reach the worker pools. Timeouts find a dead worker by its missing heartbeat; a fault of the infrastructure
 * is retried until it is mended; errors that no retry can help fail at once.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
  type ActivityInterfaceFor,
  type ActivityOptions,
} from '@temporalio/workflow';
import type {
  CpuActivities,
  EnvActivities,
  RolloutActivities,
  TrainActivities,
} from '../activities/interface.ts';
import { causes, type Cause } from '../core/errors.ts';
import { taskQueues, type Pool } from '../core/ids.ts';

const nonRetryableErrorTypes = Object.entries(causes)
  .filter(([, cause]) => !cause.retryable)
  .map(([name]) => name);

function options(
  pool: Pool,
  startToCloseTimeout: ActivityOptions['startToCloseTimeout'],
  heartbeatSeconds: number,
): ActivityOptions {
  return {
    taskQueue: taskQueues[pool],
    startToCloseTimeout,
    heartbeatTimeout: heartbeatSeconds * 1000,
    retry: {
      initialInterval: '200ms',
      backoffCoefficient: 2,
      maximumInterval: '10s',
      nonRetryableErrorTypes,
    },
  };
}

export const cpu = (heartbeatSeconds: number): ActivityInterfaceFor<CpuActivities> =>
  proxyActivities<CpuActivities>(options('cpu', '30 minutes', heartbeatSeconds));
/** For what a run can do without: given up after some attempts, of which one that a worker hands back is none. */
export const tolerant = (heartbeatSeconds: number): Pick<CpuActivities, 'publishMetrics'> => {
  const { retry, ...others } = options('cpu', '1 minute', heartbeatSeconds);
  const { publishMetrics } = proxyActivities<CpuActivities>({
    ...others,
    retry: {
      ...retry,
      maximumAttempts: 4,
      nonRetryableErrorTypes: [...nonRetryableErrorTypes, 'WorkerShutdown' satisfies Cause],
    },
  });
  return { publishMetrics: (input) => againIfHandedBack(() => publishMetrics(input)) };
};
export const rollout = (heartbeatSeconds: number): ActivityInterfaceFor<RolloutActivities> =>
  proxyActivities<RolloutActivities>(options('rollout', '12 hours', heartbeatSeconds));
/** On the queue of one host; given up where no worker takes it within `seconds`. */
export const rolloutOn = (
  taskQueue: string,
  heartbeatSeconds: number,
  seconds: number,
): ActivityInterfaceFor<RolloutActivities> =>
  proxyActivities<RolloutActivities>({
    ...options('rollout', '12 hours', heartbeatSeconds),
    taskQueue,
    scheduleToStartTimeout: seconds * 1000,
  });
export const envOn = (
  taskQueue: string,
  heartbeatSeconds: number,
  seconds: number,
): ActivityInterfaceFor<EnvActivities> =>
  proxyActivities<EnvActivities>({
    ...options('env', '2 hours', heartbeatSeconds),
    taskQueue,
    scheduleToStartTimeout: seconds * 1000,
  });
export const train = (heartbeatSeconds: number): ActivityInterfaceFor<TrainActivities> =>
  proxyActivities<TrainActivities>(options('train', '12 hours', heartbeatSeconds));
export const env = (heartbeatSeconds: number): ActivityInterfaceFor<EnvActivities> =>
  proxyActivities<EnvActivities>(options('env', '2 hours', heartbeatSeconds));

async function againIfHandedBack<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isHandedBack(error)) throw error;
    }
  }
}

function isHandedBack(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    error.cause instanceof ApplicationFailure &&
    error.cause.type === ('WorkerShutdown' satisfies Cause)
  );
}
