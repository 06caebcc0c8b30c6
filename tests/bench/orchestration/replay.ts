/** What a control worker must do to go on with a run that has made 500 iterations: replay its open histories, and read where it stands. */
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { workflowIds } from '../../../core/ids.ts';
import { summarizeJournals } from '../../../store/journal-summary.ts';
import { readJournals } from '../../../store/read-journal.ts';
import { runFolder } from '../../../store/run-folder.ts';
import { singleFigure, type Figure } from '../figure.ts';
import { withInstantStack } from './instant-stack.ts';
import { measuredRecipe } from './recipes.ts';

const iterations = 500;
const workflowBundle = {
  codePath: fileURLToPath(new URL('../../../dist/workflow-bundle.js', import.meta.url)),
};

/** The run's last history is as long as one gets, and its last iteration is over: nothing that is open is longer. */
export function measureReplay(): Promise<Figure[]> {
  return withInstantStack({ generateSeconds: 0, stepSeconds: 0 }, async (stack) => {
    const recipe = measuredRecipe('replay', iterations, { tasksPerIteration: 1, groupSize: 2 });
    await (await stack.rekindle.train(recipe, { run: 'replay' })).result();

    const connection = await Connection.connect({ address: stack.address });
    const { workflow } = new Client({ connection });
    const ids = [workflowIds.train('replay'), workflowIds.iteration('replay', iterations)];
    const histories = await Promise.all(ids.map((id) => workflow.getHandle(id).fetchHistory()));
    await connection.close();
    const startedAt = performance.now();
    for (const [i, history] of histories.entries())
      await Worker.runReplayHistory({ workflowBundle }, history, ids[i]);
    const replaySeconds = (performance.now() - startedAt) / 1000;

    const { attempts } = summarizeJournals(
      (await readJournals(runFolder(stack.runsFolder, 'training', 'replay').logs)).lines,
      true,
    );
    const lastOpening = attempts
      .filter(({ activity, end }) => activity === 'openRun' && end !== null)
      .at(-1)!;
    const openSeconds = (lastOpening.end! - lastOpening.start) / 1000;
    return [
      singleFigure(
        'replaySeconds500',
        replaySeconds + openSeconds,
        'seconds to replay the open histories of a run at 500 iterations and to read its commit log',
        {
          replaySeconds,
          openSeconds,
          events: histories.reduce((sum, { events }) => sum + (events?.length ?? 0), 0),
        },
      ),
    ];
  });
}
