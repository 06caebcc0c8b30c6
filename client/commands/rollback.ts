import { contextOf, withConnection, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import { parseNumber } from '../terminal/parse-number.ts';
import type { Register } from './command.ts';

/** `rekindle rollback <run> <version>` */
export const registerRollback: Register = (program, io) => {
  withServerOptions(program.command('rollback'))
    .description('go back to an earlier policy version before the next iteration; the data goes on')
    .argument('<run>')
    .argument('<version>')
    .action(async (run: string, given: string, options: ServerOptions) => {
      const version = parseNumber('<version>', given, { least: 0, whole: true });
      const context = contextOf(io, options);
      const state = await withConnection(context, (rekindle) => rekindle.run(run).rollback(version));
      context.output.result(state, `run ${run} goes back to version ${version} before its next iteration`);
    });
};
