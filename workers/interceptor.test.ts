import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { ActivityExecuteInput } from '@temporalio/worker';
import { Context } from '@temporalio/activity';
import { describe, expect, it } from 'vitest';
import { readJournals } from '../store/read-journal.ts';
import { runFolder } from '../store/run-folder.ts';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { abandonment, cancellation, workerShutdown } from '../activities/execution.ts';
import { activityInterceptor, toFailure } from './interceptor.ts';
import { RunJournals } from './run-journals.ts';

const neverTold = new AbortController().signal;

/** The attempts that stand in the journal of run `r` after an activity was executed with this input. */
async function journaledAttempts(input: unknown): Promise<unknown[]> {
  const runsFolder = join(scratchFolder(), 'runs');
  const journals = new RunJournals(runsFolder, 'env');
  await new MockActivityEnvironment().run(async () => {
    const { inbound } = activityInterceptor('env', journals, neverTold)(Context.current());
    const execution: ActivityExecuteInput = { args: [input], headers: {} };
    await inbound.execute!(execution, () => Promise.resolve());
  });
  await journals.flush();
  const { lines } = await readJournals(runFolder(runsFolder, 'training', 'r').logs);
  return lines.flatMap(({ event }) =>
    event.event === 'attempt-ended' ? [{ iteration: event.iteration, error: event.error }] : [],
  );
}

describe('an attempt of an activity', () => {
  it.each([
    ['its input', { run: 'r', iteration: 3 }],
    ['the log entry in its input', { entry: { run: 'r', iteration: 3 } }],
    ['the episode in its input', { episode: { run: 'r', iteration: 3 }, turn: 0 }],
  ])('is written into the journal of the run that %s names', async (_, input) => {
    expect(await journaledAttempts(input)).toEqual([{ iteration: 3, error: null }]);
  });
});

describe('a worker that is told to end', () => {
  const execute = async (shutdown: AbortSignal, attempt: () => Promise<unknown>): Promise<unknown> =>
    new MockActivityEnvironment().run(() => {
      const journals = new RunJournals(join(scratchFolder(), 'runs'), 'env');
      const { inbound } = activityInterceptor('env', journals, shutdown)(Context.current());
      return inbound.execute!({ args: [{}], headers: {} }, attempt);
    });
  const handBack = { type: 'WorkerShutdown', nonRetryable: false, nextRetryDelay: '1 millisecond' };

  it('hands back what an attempt was at, whatever error that ends in', async () => {
    const shutdown = new AbortController();
    const attempt = execute(shutdown.signal, async () => {
      shutdown.abort(workerShutdown());
      expect(cancellation().aborted).toBe(true);
      expect(abandonment().aborted).toBe(false);
      throw new TypeError('torn off');
    });
    await expect(attempt).rejects.toMatchObject(handBack);
  });

  it('begins nothing more, but lets an attempt end well that can', async () => {
    const begun = execute(AbortSignal.abort(workerShutdown()), () => Promise.resolve('done'));
    await expect(begun).rejects.toMatchObject(handBack);
    const shutdown = new AbortController();
    const ending = execute(shutdown.signal, async () => (shutdown.abort(workerShutdown()), 'done'));
    expect(await ending).toBe('done');
  });
});

describe('an error of an activity', () => {
  it('that is a defect of the program is not retried', () => {
    expect(toFailure(new TypeError('x is not a function'))).toMatchObject({
      type: 'Defect',
      nonRetryable: true,
    });
  });

  it('that is unknown is left as it is, and so retried', () => {
    const error = new Error('socket hang up');
    expect(toFailure(error)).toBe(error);
  });
});
