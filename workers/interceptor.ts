/**
 * What every activity gets without asking: heartbeats while it runs (so that only a dead or stuck process misses them), a line
 * in the run's journal when an attempt starts and ends, and errors told to Temporal by their cause.
 */
import { ApplicationFailure, type Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { isDefect, RekindleError } from '../core/errors.ts';
import type { Pool } from '../core/ids.ts';
import type { RunJournals } from './run-journals.ts';

export function activityInterceptor(
  pool: Pool,
  journals: RunJournals,
): (context: Context) => { inbound: ActivityInboundCallsInterceptor } {
  return (context) => ({
    inbound: {
      async execute(input, next) {
        const { run, iteration } = coordinates(input.args[0]);
        const record = {
          activity: context.info.activityType,
          iteration,
          attempt: context.info.attempt,
          pool,
          startedAt: new Date().toISOString(),
        };
        const heartbeats = beat(context);
        if (run !== null) journals.write(run, { event: 'attempt-started', ...record });
        let error: string | null = null;
        try {
          return await next(input);
        } catch (thrown) {
          error = String(thrown);
          throw toFailure(thrown);
        } finally {
          clearInterval(heartbeats);
          if (run !== null)
            journals.write(run, {
              event: 'attempt-ended',
              ...record,
              endedAt: new Date().toISOString(),
              error,
            });
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
 * mistake in the program throws is not: it would come again. Anything else may pass, and is retried.
 */
export function toFailure(thrown: unknown): unknown {
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
