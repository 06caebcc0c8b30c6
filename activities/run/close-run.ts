/** Ends a run: brings the run folder up to the log, writes `meta.json` and the report. Repeating it writes the same. */
import { log } from '@temporalio/activity';
import { closeRunInputSchema, closeRunResultSchema } from '../../core/contracts.ts';
import type { Meta } from '../../core/records.ts';
import { publishMetrics } from '../../store/metrics-file.ts';
import { committedEntries, recordedEvaluations } from '../../store/run-history.ts';
import { createRunFolder, writeMeta } from '../../store/run-folder.ts';
import { writeTrajectoryIndex } from '../../store/trajectory-index.ts';
import { defineActivity } from '../define-activity.ts';
import { readFaultTotals } from '../report/read-fault-account.ts';
import { writeReport } from '../report/write-report.ts';
import type { CpuActivities } from '../interface.ts';
import type { Services } from '../services.ts';
import { openedRun, originOf } from './opening.ts';

export function closeRun({ store, runsFolder }: Services): CpuActivities['closeRun'] {
  return defineActivity('closeRun', closeRunInputSchema, closeRunResultSchema, async (input) => {
    const { run, status, reason, startedAt, finishedAt } = input;
    const opened = await openedRun(store, run);
    const { recipe, tokenizer } = opened;
    const entries = await committedEntries(store, run);
    const head = entries.at(-1)!;
    const refusedUpdates = entries.filter(({ update }) => update === 'refused').length;
    const evaluations = await recordedEvaluations(store, run);
    const folder = await createRunFolder(runsFolder, 'training', run);
    const faults = await readFaultTotals(folder.root, { start: startedAt, end: finishedAt });
    const meta: Meta = {
      runId: run,
      recipe: recipe.name,
      status,
      policyVersion: head.version,
      evaluation: {
        before: evaluations.at(0)?.accuracy ?? null,
        after: evaluations.at(-1)?.accuracy ?? null,
      },
      wallSeconds: (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000,
      startedAt,
      finishedAt,
      weights: head.weights.hash,
      store: store.location,
      ...(reason === undefined ? {} : { reason }),
      ...originOf(opened),
      ...(refusedUpdates === 0 ? {} : { refusedUpdates }),
      faults,
    };
    await writeMeta(folder, meta);
    await publishMetrics(store, run, folder, faults);
    await writeTrajectoryIndex(store, run, folder);
    const report = await writeReport({
      store,
      run,
      folder: folder.root,
      meta,
      showToken: (id) => tokenizer.token(id),
    }).catch((error: unknown) => {
      // The run is whole without its report, which `rekindle report` writes anew.
      log.error('the report was not written', { run, error });
      return null;
    });
    return { folder: folder.root, report, head };
  });
}
