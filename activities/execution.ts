/** What an activity knows of its own execution. */
import { Context } from '@temporalio/activity';
import { hostname } from 'node:os';
import type { Provenance } from '../store/store.ts';

/** Aborted when the activity is cancelled or timed out, or its worker shuts down. */
export function cancellation(): AbortSignal {
  return Context.current().cancellationSignal;
}

/** Starts the clock on a result; the returned function tells who made it and when. For reports, never for decisions. */
export function provenance(): () => Provenance {
  const startedAt = new Date().toISOString();
  const { attempt } = Context.current().info;
  return () => ({
    startedAt,
    finishedAt: new Date().toISOString(),
    attempt,
    worker: `${hostname()}:${process.pid}`,
  });
}
