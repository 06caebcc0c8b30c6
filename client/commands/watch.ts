import { showProgress } from '../progress/show-progress.ts';
import { renderSummary, summarizeRun } from '../run-summary.ts';
import { commandLine } from '../terminal/command-line.ts';
import { contextOf, withConnection, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import type { Register } from './command.ts';

/** `rekindle watch <run>` */
export const registerWatch: Register = (program, io) => {
  withServerOptions(program.command('watch'))
    .description('show the progress of a run until it ends')
    .argument('<run>')
    .action((run: string, options: ServerOptions) => {
      const context = contextOf(io, options);
      const { output, settings } = context;
      return withConnection(context, async (rekindle) => {
        const state = await showProgress(rekindle.run(run), { io, output, link: null });
        if (state === null) {
          return output.note(`\nrun ${run} goes on. End it with: ${commandLine(`stop ${run}`)}`);
        }
        const summary = await summarizeRun(settings.home, state, null);
        output.result({ kind: 'summary', ...summary }, renderSummary(summary, output.colors));
      });
    });
};
