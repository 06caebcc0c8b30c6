import { forkSchema, type Fork } from '../../core/contracts.ts';
import { RekindleError } from '../../core/errors.ts';
import { interruptedExitCode } from '../terminal/io.ts';
import { trainSession } from '../train-session.ts';
import { contextOf, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import { collect, type Register } from './command.ts';

interface TrainCommandOptions extends ServerOptions {
  run?: string;
  set?: string[];
  from?: string;
  optimizer?: string;
  detach?: boolean;
  stay?: boolean;
}

/** `rekindle train <recipe>`; left by Ctrl-C while the run goes on, it ends with exit code 130. */
export const registerTrain: Register = (program, io, setExitCode) => {
  withServerOptions(program.command('train'))
    .description('train a recipe: the name of one that comes with the package, or a path')
    .argument('[recipe]', 'may be left out with --from: then it is that of the other run')
    .option('--run <id>', 'id of the run (default: <recipe>-<date>-<time>)')
    .option('--set <path=value>', 'override a setting of the recipe; may be given several times', collect)
    .option('--from <run@version>', 'begin with a policy version of another run of this store')
    .option(
      '--optimizer <state>',
      'with --from: keep its optimizer state, or begin with a fresh one (default)',
    )
    .option('--detach', 'return as soon as the run has started (needs a running stack)')
    .option('--stay', 'leave server and workers up after the run, until Ctrl-C')
    .action(async (recipe: string | undefined, options: TrainCommandOptions) => {
      const from = forkOf(options);
      if (recipe === undefined && from === undefined) {
        throw new RekindleError('UsageError', 'train: neither a recipe nor --from <run@version> is given');
      }
      const left = await trainSession(contextOf(io, options), {
        recipe,
        ...(from !== undefined && { from }),
        run: options.run,
        set: options.set ?? [],
        detach: options.detach ?? false,
        stay: options.stay ?? false,
        goOnWithOpenRun: false,
      });
      if (left === 'the run') setExitCode(interruptedExitCode);
    });
};

/** Throws UsageError that names the option, its text and what was expected. */
export function forkOf({
  from,
  optimizer,
}: Pick<TrainCommandOptions, 'from' | 'optimizer'>): Fork | undefined {
  if (from === undefined) {
    if (optimizer === undefined) return undefined;
    throw new RekindleError(
      'UsageError',
      `--optimizer ${optimizer} has no effect without --from <run@version>`,
    );
  }
  const [, run, version] = /^([^@]+)@(\d+)$/.exec(from) ?? [];
  const fork = forkSchema.safeParse({ run, version: Number(version), optimizer });
  if (fork.success) return fork.data;
  const wrongOptimizer = fork.error.issues.some(({ path }) => path[0] === 'optimizer');
  throw new RekindleError(
    'UsageError',
    wrongOptimizer
      ? `--optimizer ${optimizer}: expected keep or fresh`
      : `--from ${JSON.stringify(from)}: expected <run>@<version>, as in sums@3`,
  );
}
