/** A connection to Temporal and to the store of a home folder: starts runs, finds them, audits them. */
import { Client, Connection, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { TrainRunInput } from '../core/contracts.ts';
import { RekindleError } from '../core/errors.ts';
import { runIdPattern, taskQueues, workflowIds } from '../core/ids.ts';
import { connectionOptions } from '../deploy/temporal/connection-options.ts';
import type { Verification } from '../store/verify.ts';
import { Calls } from './calls.ts';
import { verifyLocalRun } from './local-runs.ts';
import { checkRunId, defaultRunId } from './run-id.ts';
import { RunHandle } from './run-handle.ts';
import { resolveSettings, type ClientSettings, type ConnectOptions } from './settings.ts';
import { explainError, unreachable } from './temporal-errors.ts';
import { commandLine } from './terminal/command-line.ts';

export interface TrainOptions {
  /** Id of the run; `<recipe>-<date>-<time>` when not given. */
  run?: string;
  /** Overrides, each `path=value`. */
  set?: string[];
  /** A policy version of another run in the same store to begin with; its recipe holds when none is given. */
  from?: TrainRunInput['from'];
}

/** A run as Temporal lists it. */
export interface RunSummary {
  run: string;
  recipe: string;
  status: 'running' | 'completed' | 'failed';
  phase: string;
  iteration: number | null;
  policyVersion: number | null;
  startedAt: string;
  finishedAt: string | null;
}

export class Rekindle {
  readonly settings: ClientSettings;
  readonly #connection: Connection;
  readonly #client: Client;
  readonly #calls: Calls;

  constructor(connection: Connection, settings: ClientSettings) {
    this.settings = settings;
    this.#connection = connection;
    this.#client = new Client({ connection, namespace: settings.namespace });
    this.#calls = new Calls(connection);
  }

  /**
   * Starts a training run of a recipe: the name of one that comes with the package, a path that the workers can read, or the
   * recipe itself. A run of that id that was stopped or failed, or was lost, goes on from its commit log. Throws RunExistsError
   * for an id that runs already or has completed.
   */
  async train(recipe: TrainRunInput['recipe'], options: TrainOptions = {}): Promise<RunHandle> {
    const name = nameOf(recipe, options.from);
    const run = checkRunId(options.run ?? defaultRunId(name, new Date()));
    const { set = [], from } = options;
    const input: TrainRunInput = {
      ...(recipe !== undefined && { recipe }),
      set,
      ...(from !== undefined && { from }),
    };
    const handle = this.run(run);
    const start = (workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY' | 'ALLOW_DUPLICATE') =>
      this.#client.workflow.start('trainRun', {
        workflowId: workflowIds.train(run),
        taskQueue: taskQueues.control,
        args: [input],
        workflowIdReusePolicy,
        workflowIdConflictPolicy: 'FAIL',
        staticSummary: `${name}: training run ${run}`,
      });
    try {
      await start('ALLOW_DUPLICATE_FAILED_ONLY').catch(async (error: unknown) => {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError) || !(await handle.wasStopped()))
          throw error;
        await start('ALLOW_DUPLICATE');
      });
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) throw await runExists(handle);
      throw explainError(error, run, this.settings.address);
    }
    return handle;
  }

  /** A handle of a run; nothing is asked yet. Throws UsageError for a malformed id. */
  run(run: string): RunHandle {
    return new RunHandle(this.#client, this.#calls, this.settings.address, checkRunId(run));
  }

  /** Runs that Temporal knows, newest first. */
  async list(): Promise<RunSummary[]> {
    const summaries: RunSummary[] = [];
    try {
      for await (const execution of this.#client.workflow.list({ query: "WorkflowType = 'trainRun'" })) {
        const run = execution.workflowId.replace(/^train-/, '');
        const status = execution.status.name;
        if (!runIdPattern.test(run) || status === 'CONTINUED_AS_NEW') continue;
        const attribute = (name: string): unknown => execution.searchAttributes[name]?.[0];
        summaries.push({
          run,
          recipe: textOr(attribute('RekindleRecipe'), ''),
          status: status === 'RUNNING' ? 'running' : status === 'COMPLETED' ? 'completed' : 'failed',
          phase: textOr(attribute('RekindlePhase'), ''),
          iteration: numberOrNull(attribute('RekindleIteration')),
          policyVersion: numberOrNull(attribute('RekindlePolicyVersion')),
          startedAt: execution.startTime.toISOString(),
          finishedAt: execution.closeTime?.toISOString() ?? null,
        });
      }
    } catch (error) {
      throw explainError(error, '', this.settings.address);
    }
    return summaries.sort((a, b) => b.startedAt.localeCompare(a.startedAt));
  }

  /** Audits a run of this home from its store alone; asks neither Temporal nor a worker. Throws RunNotFoundError. */
  verify(run: string): Promise<Verification> {
    return verifyLocalRun(this.settings.home, run);
  }

  /** Ends the calls that are under way, which throw TemporalError then, and closes the connection. */
  async close(): Promise<void> {
    await this.#calls.end();
    await this.#connection.close();
  }
}

/** Connects to Temporal, with the credentials of its environment. Throws TemporalError when nothing answers at the address within five seconds. */
export async function connect(options: ConnectOptions = {}): Promise<Rekindle> {
  const settings = resolveSettings(options, process.env);
  try {
    const connection = await Connection.connect({
      ...connectionOptions(settings.address, process.env),
      connectTimeout: '5s',
    });
    return new Rekindle(connection, settings);
  } catch (error) {
    throw unreachable(settings.address, error);
  }
}

function nameOf(recipe: TrainRunInput['recipe'], from: TrainRunInput['from']): string {
  if (typeof recipe === 'string') return recipe;
  if (recipe === undefined) return from?.run ?? 'run';
  return typeof recipe['name'] === 'string' ? recipe['name'] : 'run';
}

async function runExists(handle: RunHandle): Promise<RekindleError> {
  const open = await handle.isOpen();
  return new RekindleError(
    'RunExistsError',
    `run ${handle.run} ${open ? 'is running already' : 'has ended already'}`,
    {
      hint: open
        ? `It goes on while \`${commandLine('up')}\` runs: watch it with \`${commandLine(`watch ${handle.run}`)}\`, or choose another id with --run.`
        : `See \`${commandLine(`status ${handle.run}`)}\`, or choose another id with --run.`,
    },
  );
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
