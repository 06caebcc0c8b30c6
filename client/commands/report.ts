import { writeReport } from '../../activities/report/write-report.ts';
import { openedRun } from '../../activities/run/opening.ts';
import { requireLocalRun } from '../local-runs.ts';
import { contextOf, withCommonOptions, type CommonOptions } from '../terminal/context.ts';
import type { Register } from './command.ts';

/** `rekindle report <run>`: writes the report anew, from store and journals; also of a run that is going on. */
export const registerReport: Register = (program, io) => {
  withCommonOptions(program.command('report'))
    .description('write the report of a run, finished or not')
    .argument('<run>')
    .action(async (run: string, options: CommonOptions) => {
      const { output, settings } = contextOf(io, options);
      const { store, folder, meta } = await requireLocalRun(settings.home, run);
      const { tokenizer } = await openedRun(store, run);
      const showToken = (id: number): string => tokenizer.token(id);
      const report = await writeReport({ store, run, folder: folder.root, meta, showToken });
      output.result({ run, report }, report);
    });
};
