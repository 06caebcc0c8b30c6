import type { RunState } from '../../core/contracts.ts';
import { stuckLine } from '../../core/stuck.ts';
import { describeFaults, localFaults } from '../local-faults.ts';
import { findLocalMeta, formatMeta } from '../local-runs.ts';
import { advance, noProgress } from '../progress/progress.ts';
import { renderBlock } from '../progress/render-block.ts';
import type { RunHandle } from '../run-handle.ts';
import { isTransient } from '../temporal-errors.ts';
import { contextOf, withConnection, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import type { Register } from './command.ts';

/** `rekindle status <run>`: from the run itself; from its folder when no server or worker answers. */
export const registerStatus: Register = (program, io) => {
  withServerOptions(program.command('status'))
    .description('show where a run stands, and what it waits for')
    .argument('<run>')
    .action(async (run: string, options: ServerOptions) => {
      const context = contextOf(io, options);
      const { output, settings } = context;
      try {
        const state = await withConnection(context, (rekindle) => stateOf(rekindle.run(run)));
        const faults = await localFaults(settings.home, run);
        const progress = advance(noProgress, { kind: 'progress', state, phase: null });
        const block = renderBlock(progress, { run, colors: output.colors, link: null });
        const told = faults && describeFaults(faults);
        const lastLine = told ? `\n  ${output.colors.dim('faults      ')}${told}` : '';
        output.result({ ...state, faults }, block + lastLine);
      } catch (error) {
        const meta = await findLocalMeta(settings.home, run);
        if (!isTransient(error) || meta === undefined) throw error;
        output.note('No server or worker answers; this is what the run folder says.');
        const found = await withConnection(context, (rekindle) => rekindle.run(run).examine()).catch(
          () => [],
        );
        for (const stuck of found) output.note(stuckLine(stuck));
        output.result(meta, formatMeta(meta));
      }
    });
};

/** The state of a run, with what keeps it from going on at this moment. */
async function stateOf(run: RunHandle): Promise<RunState> {
  const state = await run.status();
  if (['completed', 'stopped', 'failed'].includes(state.status)) return state;
  const [stuck] = await run.examine();
  return { ...state, stuck: stuck ?? state.stuck };
}
