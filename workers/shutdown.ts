/**
 * The orderly end of a worker process. At the first signal it polls no more and its attempts are told; they have
 * `shutdownGraceTime` to hand their work back. We do this and not the SDK, which tells activities only when that time is over.
 */
import type { Worker } from '@temporalio/worker';
import { workerShutdown } from '../activities/execution.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGQUIT'] as const;

/** How long a worker that was told to stop waits, in milliseconds: all of it within what the supervisor grants a process. */
export const shutdownTimes = {
  /** Attempts that have not ended by then are cancelled. */
  shutdownGraceTime: 8_000,
  /** Then it ends in any case; what was cut off is repeated. */
  shutdownForceTime: 10_000,
};

export class Shutdown {
  readonly #told = new AbortController();
  #running: readonly Worker[] = [];

  constructor() {
    for (const signal of signals) process.on(signal, this.#begin);
  }

  /** Aborted, with a WorkerShutdown error, when the process is told to end. */
  get signal(): AbortSignal {
    return this.#told.signal;
  }

  /** Runs workers until the process is told to end and their attempts have ended. `onRunning` is called when all of them poll. */
  async run(workers: readonly Worker[], onRunning: () => void): Promise<void> {
    this.signal.throwIfAborted();
    this.#running = workers;
    const ended = Promise.all(workers.map((worker) => worker.run()));
    onRunning();
    await ended;
  }

  readonly #begin = (): void => {
    // Before any attempt hears of it: what it hands back must not be polled here again.
    for (const worker of this.#running) if (worker.getState() === 'RUNNING') worker.shutdown();
    this.#told.abort(workerShutdown());
  };
}
