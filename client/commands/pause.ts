import { contextOf, withConnection, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import type { Register } from './command.ts';

/** `rekindle pause <run>` */
export const registerPause: Register = (program, io) => {
  withServerOptions(program.command('pause'))
    .description('pause a run after its current iteration')
    .argument('<run>')
    .action(async (run: string, options: ServerOptions) => {
      const context = contextOf(io, options);
      const state = await withConnection(context, (rekindle) => rekindle.run(run).pause());
      context.output.result(state, `run ${run} pauses after its current iteration`);
    });
};
