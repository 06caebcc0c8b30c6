import { contextOf, withConnection, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import type { Register } from './command.ts';

/** `rekindle resume <run>` */
export const registerResume: Register = (program, io) => {
  withServerOptions(program.command('resume'))
    .description('let a paused run go on')
    .argument('<run>')
    .action(async (run: string, options: ServerOptions) => {
      const context = contextOf(io, options);
      const state = await withConnection(context, (rekindle) => rekindle.run(run).resume());
      context.output.result(state, `run ${run} goes on`);
    });
};
