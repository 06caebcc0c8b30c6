/**
 * What an attempt at an activity knows of its own execution, and how it is told to end.
 *
 * There are two ways to be told. A worker that shuts down tells its attempts at once, and grants them some time to hand their
 * work back: to stop where it costs least, and to save what they have. An attempt that is cancelled, that the server has given to
 * another worker, or whose time is over must end where it is.
 */
import { Context } from '@temporalio/activity';
import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import { RekindleError } from '../core/errors.ts';
import type { Provenance } from '../store/store.ts';

const ends = new AsyncLocalStorage<AbortSignal>();

/** Runs an attempt, which is told to end by its cancellation and by `shutdown`. */
export async function runAttempt<T>(shutdown: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  const end = new AbortController();
  const forget = [Context.current().cancellationSignal, shutdown].map((signal) => {
    const tell = (): void => end.abort(signal.reason);
    if (signal.aborted) tell();
    signal.addEventListener('abort', tell);
    return () => signal.removeEventListener('abort', tell);
  });
  try {
    return await ends.run(end.signal, attempt);
  } finally {
    for (const stop of forget) stop();
  }
}

/** What attempts throw whose worker shuts down: they are given to another one at once. */
export function workerShutdown(): RekindleError {
  return new RekindleError('WorkerShutdown', 'the worker shuts down, and hands its work back');
}

/** Aborted when the attempt is told to end in either way. */
export function cancellation(): AbortSignal {
  return ends.getStore() ?? abandonment();
}

/** Aborted when the attempt must end where it is. */
export function abandonment(): AbortSignal {
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
