import { formatAccuracy } from '../../activities/report/format.ts';
import { listLocalMetas } from '../local-runs.ts';
import type { RunSummary } from '../rekindle.ts';
import { isTransient } from '../temporal-errors.ts';
import {
  contextOf,
  withConnection,
  withServerOptions,
  type Context,
  type ServerOptions,
} from '../terminal/context.ts';
import { formatTable } from '../terminal/table.ts';
import type { Register } from './command.ts';

/** `rekindle list`: the runs of this home, and those that Temporal knows. */
export const registerList: Register = (program, io) => {
  withServerOptions(program.command('list'))
    .description('list runs, newest first')
    .action(async (options: ServerOptions) => {
      const context = contextOf(io, options);
      const { output, settings } = context;
      const metas = await listLocalMetas(settings.home);
      const known = await runsOfServer(context);
      const runs = metas.map((meta) => {
        const open = known.find(({ run }) => run === meta.runId);
        return {
          ...meta,
          status: open?.status ?? meta.status,
          policyVersion: open?.policyVersion ?? meta.policyVersion,
        };
      });
      const elsewhere = known.filter(({ run }) => !metas.some((meta) => meta.runId === run));
      output.result(
        { runs, elsewhere },
        formatTable(
          [
            ...runs.map(({ runId, recipe, status, policyVersion, evaluation, startedAt }) => [
              ...[runId, recipe, status, String(policyVersion)],
              `${formatAccuracy(evaluation.before)} → ${formatAccuracy(evaluation.after)}`,
              startedAt.slice(0, 16).replace('T', ' '),
            ]),
            ...elsewhere.map(({ run, recipe, status, policyVersion, startedAt }) => [
              ...[
                run,
                recipe,
                status,
                String(policyVersion ?? '–'),
                '–',
                startedAt.slice(0, 16).replace('T', ' '),
              ],
            ]),
          ],
          ['run', 'recipe', 'status', 'version', 'held-out accuracy', 'started (UTC)'],
        ),
      );
    });
};

async function runsOfServer(context: Context): Promise<RunSummary[]> {
  try {
    return await withConnection(context, (rekindle) => rekindle.list());
  } catch (error) {
    if (!isTransient(error)) throw error;
    context.output.note('Temporal does not answer; these are the runs with a folder here.');
    return [];
  }
}
