/**
 * What every activity gets without asking: heartbeats while it runs (so that only a dead or stuck process misses them), a line
 * in the run's journal when an attempt starts and ends, and errors told to Temporal by their cause.
 */
import { ApplicationFailure, type Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { runAttempt } from '../activities/execution.ts';
import { isCause, isDefect, RekindleError } from '../core/errors.ts';
import type { Pool } from '../core/ids.ts';
import { withSampledWork } from '../store/sampled-work.ts';
import { recordAttempt } from './attempt-record.ts';
import type { RunJournals } from './run-journals.ts';

export function activityInterceptor(
  pool: Pool,
  journals: RunJournals,
  shutdown: AbortSignal,
): (context: Context) => { inbound: ActivityInboundCallsInterceptor } {
  return (context) => ({
    inbound: {
      async execute(input, next) {
        const { activityType: activity, attempt } = context.info;
        const where = coordinates(input.args[0]);
        const record = recordAttempt(journals, { ...where, pool, activity, attempt, input: input.args });
        const heartbeats = beat(context);
        let error: string | null = null;
        try {
          shutdown.throwIfAborted(); // handed out by the server as the worker began to end
          return await runAttempt(shutdown, () => withSampledWork(record.work, () => next(input)));
        } catch (thrown) {
          const cause = shutdown.aborted ? (shutdown.reason as RekindleError) : thrown;
          error = String(cause);
          throw toFailure(cause);
        } finally {
          clearInterval(heartbeats);
          record.end(error);
        }
      },
    },
  });
}

function beat(context: Context): NodeJS.Timeout {
  const timeout = context.info.heartbeatTimeoutMs ?? 10_000;
  return setInterval(() => context.heartbeat(), timeout / 5);
}

/** Where an activity works: its input says so itself, or the log entry or the episode in it does. */
function coordinates(input: unknown): { run: string | null; iteration: number | null } {
  const { entry, episode, ...own } = fieldsOf(input);
  const { run, iteration } = { ...own, ...fieldsOf(entry), ...fieldsOf(episode) };
  return {
    run: typeof run === 'string' ? run : null,
    iteration: typeof iteration === 'number' ? iteration : null,
  };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/**
 * A RekindleError keeps its cause as the failure's type, and the cause decides whether it is retried. An error that only a
 * mistake in the program throws is not: it would come again. Anything else may pass, and is retried. Work that is handed back
 * has not failed: another worker gets it without delay.
 */
export function toFailure(thrown: unknown): unknown {
  if (isCause(thrown, 'WorkerShutdown')) {
    return ApplicationFailure.create({
      message: thrown.message,
      type: thrown.kind,
      nextRetryDelay: '1 millisecond',
      category: ApplicationFailureCategory.BENIGN,
    });
  }
  if (thrown instanceof RekindleError) {
    return ApplicationFailure.create({
      message: thrown.hint === undefined ? thrown.message : `${thrown.message} (${thrown.hint})`,
      type: thrown.kind,
      nonRetryable: !thrown.retryable,
      cause: thrown,
    });
  }
  return isDefect(thrown) ? ApplicationFailure.nonRetryable(String(thrown), 'Defect', thrown) : thrown;
}
