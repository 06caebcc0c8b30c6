import { interruptedExitCode } from '../terminal/io.ts';
import { trainSession } from '../train-session.ts';
import { contextOf, withCommonOptions, type CommonOptions } from '../terminal/context.ts';
import type { Register } from './command.ts';

/** `rekindle start`, what `npm start` runs: trains `quickstart`; on a terminal the stack then stays up until Ctrl-C. */
export const registerStart: Register = (program, io, setExitCode) => {
  withCommonOptions(program.command('start'))
    .description('train the quickstart recipe on this machine')
    .action(async (options: CommonOptions) => {
      const left = await trainSession(contextOf(io, options), {
        recipe: 'quickstart',
        run: undefined,
        set: [],
        detach: false,
        stay: io.interactive,
        goOnWithOpenRun: true,
      });
      if (left === 'the run') setExitCode(interruptedExitCode);
    });
};
