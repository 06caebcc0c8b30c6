import { contextOf, withConnection, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import type { Register } from './command.ts';

/** `rekindle stop <run>` */
export const registerStop: Register = (program, io) => {
  withServerOptions(program.command('stop'))
    .description('end a run after its current iteration, with its report')
    .argument('<run>')
    .option('--reason <text>', 'kept with the run')
    .action(async (run: string, options: ServerOptions & { reason?: string }) => {
      const context = contextOf(io, options);
      const state = await withConnection(context, (rekindle) => rekindle.run(run).stop(options.reason));
      context.output.result(state, `run ${run} stops after its current iteration`);
    });
};
