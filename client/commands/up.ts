import { RekindleError } from '../../core/errors.ts';
import { pools as allPools, type Pool } from '../../core/ids.ts';
import { describeNotice } from '../progress/show-progress.ts';
import { openStack } from '../stack.ts';
import { commandLine } from '../terminal/command-line.ts';
import { contextOf, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import { interruptible, interruption } from '../terminal/io.ts';
import type { Register } from './command.ts';

interface UpOptions extends ServerOptions {
  pools?: string;
}

/** `rekindle up`: server and workers in the foreground, until Ctrl-C. */
export const registerUp: Register = (program, io) => {
  withServerOptions(program.command('up'))
    .description('start the Temporal server and workers, and keep them alive until Ctrl-C')
    .option('--pools <list>', `worker pools to start, of ${allPools.join(', ')} (default: all)`)
    .action(async (options: UpOptions) => {
      const pools = parsePools(options.pools);
      const { output, settings, givenAddress } = contextOf(io, options);
      const say = (line: string): void => output.note(line);
      const stack = await interruptible(io, (signal) =>
        openStack({ settings, address: givenAddress, pools, say, signal }),
      );
      if (!stack.ours) {
        throw new RekindleError(
          'RunExistsError',
          `a stack runs in ${settings.home} already, at ${stack.address}`,
          {
            hint: 'End that one with Ctrl-C, or choose another folder with --home.',
          },
        );
      }
      const unsubscribe = stack.subscribe((event) => {
        const notice = describeNotice(event);
        if (notice !== null) say(notice);
      });
      const { address, uiUrl } = stack;
      const { namespace, home } = settings;
      output.result(
        { address, namespace, home, pools, webUi: uiUrl ?? null, pid: process.pid },
        [
          `Temporal  ${address}, namespace ${namespace}`,
          `Web UI    ${uiUrl ?? 'not found'}`,
          `pools     ${pools.join(', ')}`,
          `home      ${home}`,
          `Train with \`${commandLine('train <recipe>')}\` in another terminal. Ctrl-C stops everything.`,
        ].join('\n'),
      );
      await interruption(io);
      unsubscribe();
      say('Stopping …');
      await stack.stop();
    });
};

/** Throws UsageError for a pool that does not exist. */
export function parsePools(list: string | undefined): Pool[] {
  if (list === undefined) return allPools;
  return list.split(',').map((name) => {
    const pool = allPools.find((known) => known === name.trim());
    if (pool) return pool;
    throw new RekindleError(
      'UsageError',
      `--pools: ${JSON.stringify(name)}; expected some of ${allPools.join(', ')}`,
    );
  });
}
