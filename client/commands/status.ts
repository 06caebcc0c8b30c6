import { findLocalMeta, formatMeta } from '../local-runs.ts';
import { advance, noProgress } from '../progress/progress.ts';
import { renderBlock } from '../progress/render-block.ts';
import { isTransient } from '../temporal-errors.ts';
import { contextOf, withConnection, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import type { Register } from './command.ts';

/** `rekindle status <run>`: from the run itself; from its folder when no server or worker answers. */
export const registerStatus: Register = (program, io) => {
  withServerOptions(program.command('status'))
    .description('show where a run stands')
    .argument('<run>')
    .action(async (run: string, options: ServerOptions) => {
      const context = contextOf(io, options);
      const { output, settings } = context;
      try {
        const state = await withConnection(context, (rekindle) => rekindle.run(run).status());
        const progress = advance(noProgress, { kind: 'progress', state, phase: null });
        output.result(state, renderBlock(progress, { run, colors: output.colors, link: null }));
      } catch (error) {
        const meta = await findLocalMeta(settings.home, run);
        if (!isTransient(error) || meta === undefined) throw error;
        output.note('No server or worker answers; this is what the run folder says.');
        output.result(meta, formatMeta(meta));
      }
    });
};
