import { trainSession } from '../train-session.ts';
import { contextOf, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import { collect, type Register } from './command.ts';

interface TrainCommandOptions extends ServerOptions {
  run?: string;
  set?: string[];
  detach?: boolean;
  stay?: boolean;
}

/** `rekindle train <recipe>` */
export const registerTrain: Register = (program, io) => {
  withServerOptions(program.command('train'))
    .description('train a recipe: the name of one that comes with the package, or a path')
    .argument('<recipe>')
    .option('--run <id>', 'id of the run (default: <recipe>-<date>-<time>)')
    .option('--set <path=value>', 'override a setting of the recipe; may be given several times', collect)
    .option('--detach', 'return as soon as the run has started (needs a running stack)')
    .option('--stay', 'leave server and workers up after the run, until Ctrl-C')
    .action((recipe: string, options: TrainCommandOptions) =>
      trainSession(contextOf(io, options), {
        recipe,
        run: options.run,
        set: options.set ?? [],
        detach: options.detach ?? false,
        stay: options.stay ?? false,
        goOnWithOpenRun: false,
      }),
    );
};
