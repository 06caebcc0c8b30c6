/** One run, seen from outside: ask for its state, steer it, wait for it. */
import {
  QueryNotRegisteredError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowHandle,
} from '@temporalio/client';
import { pendingWork } from '../activities/watchdog/pending-work.ts';
import type { RunState } from '../core/contracts.ts';
import { isCause, RekindleError } from '../core/errors.ts';
import { workflowIds } from '../core/ids.ts';
import type { Hyperparameters } from '../core/recipe.ts';
import { whatIsStuck, type Stuck } from '../core/stuck.ts';
import type { PhaseState, StopRequest } from '../workflows/steering.ts';
import type { Calls } from './calls.ts';
import { explainError } from './temporal-errors.ts';
import { commandLine } from './terminal/command-line.ts';
import { watchRun, type RunEvent, type WatchOptions } from './watch.ts';

/** Seconds after which an unanswered question counts as unanswered. */
const answerTimeout = 10;

export class RunHandle {
  readonly run: string;
  readonly workflowId: string;
  readonly #client: Client;
  readonly #calls: Calls;
  readonly #address: string;
  readonly #workflow: WorkflowHandle;

  constructor(client: Client, calls: Calls, address: string, run: string) {
    this.run = run;
    this.workflowId = workflowIds.train(run);
    this.#client = client;
    this.#calls = calls;
    this.#address = address;
    this.#workflow = client.workflow.getHandle(this.workflowId);
  }

  /** The state of a run, open or ended. Throws RunNotFoundError, or TemporalError when no worker answers. */
  status(): Promise<RunState> {
    return this.#ask(() => this.#workflow.query<RunState>('status'));
  }

  /**
   * Pauses before the next iteration; the current one is finished. This and the other changes of a run throw UsageError when
   * the run has ended or refuses them.
   */
  pause(): Promise<RunState> {
    return this.#steer(() => this.#workflow.executeUpdate<RunState, []>('pause'));
  }

  resume(): Promise<RunState> {
    return this.#steer(() => this.#workflow.executeUpdate<RunState, []>('resume'));
  }

  /**
   * Ends the run after the current iteration, with its report and final evaluation; or at once with `now`. What the iteration in
   * flight has computed by then is used when the run is started again.
   */
  stop(reason?: string, options: { now?: boolean } = {}): Promise<RunState> {
    const request: StopRequest = {
      ...(reason !== undefined && { reason }),
      ...(options.now && { now: true }),
    };
    return this.#steer(() =>
      this.#workflow.executeUpdate<RunState, [StopRequest]>('stop', { args: [request] }),
    );
  }

  /** Goes back to the policy of an earlier version before the next iteration. The data goes on: no prompt comes again. */
  rollback(version: number): Promise<RunState> {
    return this.#steer(() =>
      this.#workflow.executeUpdate<RunState, [{ version: number }]>('rollback', { args: [{ version }] }),
    );
  }

  /** Changes settings from the next iteration on. */
  setHyperparameters(changes: Hyperparameters): Promise<RunState> {
    return this.#steer(() =>
      this.#workflow.executeUpdate<RunState, [Hyperparameters]>('setHyperparameters', { args: [changes] }),
    );
  }

  /** What keeps the run from going on, what blocks most first; nothing when all goes well. Answered without a worker. */
  async examine(): Promise<Stuck[]> {
    const { workflowService, options } = this.#client;
    const port = { workflowService, namespace: options.namespace };
    return whatIsStuck(await this.#ask(() => pendingWork(port, this.run)), Date.now());
  }

  /** Waits for the end. Throws the cause when the run failed. */
  async result(): Promise<RunState> {
    try {
      return (await this.#calls.make(() => this.#workflow.result())) as RunState;
    } catch (error) {
      throw explainError(error, this.run, this.#address);
    }
  }

  /** Progress about once a second until the end; see `watchRun`. */
  watch(options?: WatchOptions): AsyncGenerator<RunEvent, void> {
    return watchRun(
      {
        isOpen: () => this.isOpen(),
        status: () => this.status(),
        examine: () => this.examine(),
        phase: (workflowId) => this.#phase(workflowId),
        result: () => this.result(),
      },
      options,
    );
  }

  /** Whether the run goes on, by Temporal's own record: answered without a worker. */
  async isOpen(): Promise<boolean> {
    const description = await this.#ask(() => this.#workflow.describe());
    return description.status.name === 'RUNNING';
  }

  /** Whether the run has ended because it was to stop: then it can be started again. */
  async wasStopped(): Promise<boolean> {
    if (await this.isOpen()) return false;
    const state = await this.result().catch(() => null);
    return state?.status === 'stopped';
  }

  /** The phase of an iteration; null for other children, and for one that has not begun or is over. */
  async #phase(workflowId: string): Promise<PhaseState | null> {
    try {
      return await this.#calls.make(
        () => this.#client.workflow.getHandle(workflowId).query<PhaseState>('phase'),
        answerTimeout,
      );
    } catch (error) {
      if (error instanceof QueryNotRegisteredError || error instanceof WorkflowNotFoundError) return null;
      throw explainError(error, this.run, this.#address);
    }
  }

  /** Temporal answers an update of an ended workflow as one of a workflow that never was; the two are told apart here. */
  async #steer(update: () => Promise<RunState>): Promise<RunState> {
    try {
      return await this.#ask(update);
    } catch (error) {
      if (!isCause(error, 'RunNotFoundError') || (await this.isOpen())) throw error;
      throw new RekindleError('UsageError', `run ${this.run} has ended: it cannot be changed any more`, {
        hint: `See \`${commandLine(`status ${this.run}`)}\`.`,
        cause: error,
      });
    }
  }

  async #ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await this.#calls.make(question, answerTimeout);
    } catch (error) {
      throw explainError(error, this.run, this.#address);
    }
  }
}
