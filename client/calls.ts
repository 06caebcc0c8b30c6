/**
 * The calls in flight on one connection. The SDK repeats a call that the closing channel cut off, on that same channel, and
 * the error of that cannot be caught; so before a connection is closed its calls are cancelled, and their ends awaited.
 */
import type { Connection } from '@temporalio/client';

export class Calls {
  readonly #connection: Connection;
  readonly #inFlight = new Map<AbortController, Promise<unknown>>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Makes a call; `seconds` is how long its answer is waited for, by default as long as it takes. */
  async make<T>(call: () => Promise<T>, seconds?: number): Promise<T> {
    const controller = new AbortController();
    const answer = this.#connection.withAbortSignal(controller.signal, () =>
      seconds === undefined ? call() : this.#connection.withDeadline(Date.now() + seconds * 1000, call),
    );
    this.#inFlight.set(controller, answer);
    try {
      return await answer;
    } finally {
      this.#inFlight.delete(controller);
    }
  }

  async end(): Promise<void> {
    for (const controller of this.#inFlight.keys()) controller.abort();
    await Promise.allSettled(this.#inFlight.values());
  }
}
