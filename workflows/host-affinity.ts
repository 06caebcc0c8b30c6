/**
 * Calls that go where the last one was answered, as long as somebody answers there. What a host holds is a cache: another one rebuilds
 * it from what is recorded, so a host that is gone costs the wait for it and nothing else.
 */
import { ActivityFailure, TimeoutFailure } from '@temporalio/workflow';

/** The activities on one queue, each given up when no worker takes it within `seconds`. */
type ActivitiesOn<Activities> = (queue: string, seconds: number) => Activities;

export class HostAffinity<Activities> {
  readonly #anywhere: Activities;
  readonly #on: ActivitiesOn<Activities>;
  readonly #leastSeconds: number;
  #seconds: number;
  #queue: string | undefined;

  constructor(anywhere: Activities, on: ActivitiesOn<Activities>, seconds: number) {
    this.#anywhere = anywhere;
    this.#on = on;
    this.#leastSeconds = seconds;
    this.#seconds = seconds;
  }

  /** Throws what the activity throws, but for a wait in vain for the last host. */
  async call<Result extends { queue: string }>(
    activity: (activities: Activities) => Promise<Result>,
  ): Promise<Result> {
    const last = this.#queue;
    if (last === undefined) return this.#callAnywhere(activity);
    try {
      return await activity(this.#on(last, this.#seconds));
    } catch (error) {
      if (!nobodyTookIt(error)) throw error;
    }
    const result = await this.#callAnywhere(activity);
    // A host that answers after all is busy, not gone: more waits in vain would only add to its work.
    this.#seconds = result.queue === last ? 2 * this.#seconds : this.#leastSeconds;
    return result;
  }

  async #callAnywhere<Result extends { queue: string }>(
    activity: (activities: Activities) => Promise<Result>,
  ): Promise<Result> {
    const result = await activity(this.#anywhere);
    this.#queue = result.queue;
    return result;
  }
}

function nobodyTookIt(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    error.cause instanceof TimeoutFailure &&
    error.cause.timeoutType === 'SCHEDULE_TO_START'
  );
}
