import { contextOf, withConnection, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import type { Register } from './command.ts';

/** `rekindle stop <run>` */
export const registerStop: Register = (program, io) => {
  withServerOptions(program.command('stop'))
    .description('end a run after its current iteration, with its report')
    .argument('<run>')
    .option('--reason <text>', 'kept with the run')
    .option('--now', 'give up the iteration in flight; started again, the run uses what it has computed')
    .action(async (run: string, options: ServerOptions & { reason?: string; now?: boolean }) => {
      const context = contextOf(io, options);
      const { reason, now = false } = options;
      const state = await withConnection(context, (rekindle) => rekindle.run(run).stop(reason, { now }));
      context.output.result(state, `run ${run} stops ${now ? 'now' : 'after its current iteration'}`);
    });
};
