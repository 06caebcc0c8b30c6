/**
 * The iterations that are under way: each a child workflow, the first of them learning, the others collecting ahead of their turn.
 * They learn one after another, in the order of their numbers.
 *
 * An iteration that is given up keeps what it has recorded, under keys of its own: begun again, it finds that and makes the rest.
 */
import {
  CancellationScope,
  isCancellation,
  startChild,
  type ChildWorkflowHandle,
} from '@temporalio/workflow';
import type { Policy } from '../core/contracts.ts';
import { workflowIds } from '../core/ids.ts';
import type { LogEntry } from '../core/records.ts';
import { trainIteration } from './train-iteration.ts';
import { learnFrom, type TrainIterationInput } from './train-iteration-input.ts';

interface UnderWay {
  scope: CancellationScope;
  child: Promise<ChildWorkflowHandle<typeof trainIteration>>;
  result: Promise<LogEntry>;
  /** Given its parent when it was started, so that nothing has to be handed over. */
  learns: boolean;
}

export class IterationsUnderWay {
  readonly #iterations = new Map<number, UnderWay>();

  get count(): number {
    return this.#iterations.size;
  }

  has(iteration: number): boolean {
    return this.#iterations.has(iteration);
  }

  /** Starts an iteration. How it ends is told by `learn`. */
  start(input: TrainIterationInput): void {
    const { run, iteration } = input;
    const scope = new CancellationScope();
    const child = scope.run(() =>
      startChild(trainIteration, {
        workflowId: workflowIds.iteration(run, iteration),
        staticSummary: `it-${iteration}`,
        args: [input],
      }),
    );
    const result = scope.run(async () => (await child).result());
    result.catch(() => undefined); // told by `learn`, or asked for no more
    this.#iterations.set(iteration, { scope, child, result, learns: input.parent !== null });
  }

  /** Lets an iteration that was started learn from its parent; its log entry. */
  async learn(iteration: number, parent: Policy): Promise<LogEntry> {
    const { child, result, learns } = this.#iterations.get(iteration)!;
    if (!learns) await (await child).signal(learnFrom, parent);
    const entry = await result;
    this.#iterations.delete(iteration);
    return entry;
  }

  /** Gives up those that collect ahead, and waits until they have ended. */
  async giveUp(): Promise<void> {
    const given = [...this.#iterations.values()];
    this.#iterations.clear();
    for (const { scope } of given) scope.cancel();
    await Promise.all(
      given.map(({ result }) =>
        result.catch((error: unknown) => {
          if (!isCancellation(error)) throw error;
        }),
      ),
    );
  }
}
