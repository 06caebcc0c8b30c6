/** Asks Temporal what a run waits for: pending activities and steps of its workflow and those below it, and who polls their queues. */
import type { WorkflowService } from '@temporalio/client';
import { taskQueues, workflowIds } from '../../core/ids.ts';
import type { PendingActivity, PendingWork } from '../../core/stuck.ts';

/** Temporal as one namespace of one connection; clients and workers have each their own kind of connection. */
export interface TemporalPort {
  workflowService: Pick<WorkflowService, 'describeWorkflowExecution' | 'describeTaskQueue'>;
  namespace: string;
}

/** Workflows looked at in all, and children of one: what is stuck among thousands of episodes is seen at a few of them. */
const workflowLimit = 40;
const childLimit = 12;

type Description = Awaited<ReturnType<WorkflowService['describeWorkflowExecution']>>;
type Pending = Description['pendingActivities'][number];
type Moment = { seconds?: unknown; nanos?: number | null } | null | undefined;

/** Numbers of Temporal's protocol. */
const scheduledStep = 1;
const startedActivity = 2;
const queueTypes = { workflow: 1, activity: 2 };

/** Throws as the connection does when Temporal does not answer, and NotFound when it does not know the run. */
export async function pendingWork(port: TemporalPort, run: string): Promise<PendingWork> {
  const work: PendingWork = { activities: [], steps: [], lastPolls: {} };
  const waiting = [workflowIds.train(run)];
  for (let looked = 0; waiting.length > 0 && looked < workflowLimit; looked++) {
    const workflowId = waiting.shift()!;
    const description = await describe(port, workflowId, looked === 0);
    if (description === null) continue;
    const activities = (description.pendingActivities ?? []).map(activityOf);
    work.activities.push(...activities.filter(({ activity }) => activity !== 'examineRun'));
    const step = description.pendingWorkflowTask;
    if (step && Number(step.state) === scheduledStep) {
      const { scheduledTime, attempt } = step;
      work.steps.push({ workflow: workflowId, scheduledAt: momentOf(scheduledTime)!, attempt: attempt ?? 1 });
    }
    for (const { workflowId: child } of (description.pendingChildren ?? []).slice(0, childLimit)) {
      if (child) waiting.push(child);
    }
  }
  const queues = new Set([
    ...work.activities.map(({ queue }) => queue),
    ...(work.steps.length > 0 ? [taskQueues.control] : []),
  ]);
  for (const queue of queues) work.lastPolls[queue] = await lastPoll(port, queue);
  return work;
}

/** Null for a child that has ended meanwhile. */
async function describe(
  { workflowService, namespace }: TemporalPort,
  workflowId: string,
  required: boolean,
): Promise<Description | null> {
  try {
    return await workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } });
  } catch (error) {
    if (required) throw error;
    return null;
  }
}

async function lastPoll({ workflowService, namespace }: TemporalPort, queue: string): Promise<number | null> {
  const { pollers } = await workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: queue },
    taskQueueType: queue === taskQueues.control ? queueTypes.workflow : queueTypes.activity,
  });
  const moments = (pollers ?? []).flatMap(({ lastAccessTime }) => momentOf(lastAccessTime) ?? []);
  return moments.length === 0 ? null : Math.max(...moments);
}

function activityOf(pending: Pending): PendingActivity {
  const { lastFailure: failure } = pending;
  return {
    activity: pending.activityType?.name ?? 'activity',
    queue: pending.activityOptions?.taskQueue?.name ?? '',
    started: Number(pending.state) === startedActivity,
    attempt: pending.attempt ?? 1,
    scheduledAt: momentOf(pending.scheduledTime) ?? 0,
    startedAt: momentOf(pending.lastStartedTime),
    nextAttemptAt: momentOf(pending.nextAttemptScheduleTime),
    lastSign: momentOf(pending.lastHeartbeatTime),
    failure: failure
      ? { type: failure.applicationFailureInfo?.type ?? null, message: failure.message ?? '' }
      : null,
    worker: pending.lastWorkerIdentity ?? '',
  };
}

function momentOf(moment: Moment): number | null {
  if (!moment) return null;
  const ms = Number(moment.seconds ?? 0) * 1000 + (moment.nanos ?? 0) / 1e6;
  return ms > 0 ? ms : null;
}
