import { setTimeout as delay } from 'node:timers/promises';
import { RekindleError } from '../../core/errors.ts';
import { findClaim } from '../../deploy/home-claim.ts';
import { stateFolder } from '../../deploy/home.ts';
import { isRunning, signalProcess } from '../../deploy/supervision/process-identity.ts';
import { recordedProcesses } from '../../deploy/supervision/process-register.ts';
import { restartSignal } from '../stack.ts';
import { contextOf, withCommonOptions, type CommonOptions } from '../terminal/context.ts';
import { interruptible } from '../terminal/io.ts';
import type { Register } from './command.ts';

/** `rekindle restart`: the stack of a home replaces its workers, one after another. */
export const registerRestart: Register = (program, io) => {
  withCommonOptions(program.command('restart'))
    .description('replace the workers of the running stack one after another; runs go on')
    .action(async (options: CommonOptions) => {
      const { output, settings } = contextOf(io, options);
      const { home } = settings;
      const owner = findClaim(home);
      if (owner === undefined) {
        throw new RekindleError('UsageError', `no stack runs in ${home}`, {
          hint: 'Start one with `rekindle up`; workers that others keep alive are restarted by those, with SIGTERM.',
        });
      }
      const workers = [...recordedProcesses(stateFolder(home))].filter(([name]) =>
        name.startsWith('worker-'),
      );
      output.note(`Replacing ${workers.map(([name]) => name).join(', ')} …`);
      signalProcess(owner.pid, restartSignal, 'process');
      await interruptible(io, async (signal) => {
        while (workers.some(([, identity]) => isRunning(identity))) {
          if (!isRunning(owner)) throw new RekindleError('UsageError', `the stack in ${home} has ended`);
          signal.throwIfAborted();
          await delay(100);
        }
      });
      output.result({ home, replaced: workers.map(([name]) => name) }, 'All workers were replaced.');
    });
};
