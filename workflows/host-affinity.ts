/**
 * Calls that go where the last one was answered, as long as somebody answers there. What a host holds is a cache: another one rebuilds
 * it from what is recorded, so a host that is gone costs the wait for it and nothing else.
 */
import { ActivityFailure, TimeoutFailure } from '@temporalio/workflow';

export class HostAffinity<Activities> {
  readonly #anywhere: Activities;
  readonly #on: (queue: string) => Activities;
  #queue: string | undefined;

  constructor(anywhere: Activities, on: (queue: string) => Activities) {
    this.#anywhere = anywhere;
    this.#on = on;
  }

  async call<Result extends { queue: string }>(
    activity: (activities: Activities) => Promise<Result>,
  ): Promise<Result> {
    const result = await this.#tryLastHost(activity);
    this.#queue = result.queue;
    return result;
  }

  async #tryLastHost<Result>(activity: (activities: Activities) => Promise<Result>): Promise<Result> {
    if (this.#queue === undefined) return activity(this.#anywhere);
    try {
      return await activity(this.#on(this.#queue));
    } catch (error) {
      if (!nobodyTookIt(error)) throw error;
      return activity(this.#anywhere);
    }
  }
}

function nobodyTookIt(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    error.cause instanceof TimeoutFailure &&
    error.cause.timeoutType === 'SCHEDULE_TO_START'
  );
}
