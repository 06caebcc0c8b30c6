/** The `rekindle` command lines of the documentation, checked by the program's own definition; nothing is run. */
import { Command } from 'commander';
import { PassThrough } from 'node:stream';
import { commands } from '../../client/commands/index.ts';
import type { Io } from '../../client/terminal/io.ts';
import { blocks, type Page } from './pages.ts';

export interface CommandLine {
  where: string;
  program: string;
  args: string[];
}

/** The commands of a page's `sh` blocks; variables set for one, and `npx` before it, are left out. */
export function commandLines(of: Page): CommandLine[] {
  return blocks(of, 'sh').flatMap(({ page, line, text }) =>
    text
      .split('\n')
      .map((written, i) => ({ where: `${page}:${line + i}`, words: splitWords(written) }))
      .filter(({ words }) => words.length > 0)
      .map(({ where, words }) => {
        const start = words.findIndex((word) => word !== 'npx' && !/^[A-Z][A-Z_]*=/.test(word));
        const [program, ...args] = words.slice(start);
        return { where, program: program!, args };
      }),
  );
}

/** As a shell would: quotes keep words together, and what follows a `#` is a comment. */
function splitWords(line: string): string[] {
  const words: string[] = [];
  for (const [, quoted, double, plain] of line.matchAll(/'([^']*)'|"([^"]*)"|((?:[^\s'"\\]|'[^']*')+)/g)) {
    if (plain?.startsWith('#')) break;
    words.push(quoted ?? double ?? plain!.replaceAll("'", ''));
  }
  return words;
}

/** A program with every command of `rekindle` and none of its actions. */
function inertProgram(): Command {
  const stream = new PassThrough();
  const io: Io = {
    stdin: stream,
    stdout: stream,
    stderr: stream,
    interactive: false,
    env: {},
    onInterrupt: () => () => undefined,
  };
  const program = new Command('rekindle')
    .exitOverride()
    .version('0')
    .enablePositionalOptions()
    .configureOutput({ writeErr: () => undefined });
  for (const register of commands) register(program, io, () => undefined);
  for (const command of program.commands)
    command
      .exitOverride()
      .configureOutput({ writeErr: () => undefined })
      .action(() => undefined);
  return program;
}

/** Throws CommanderError when the program has no such command, option or argument. */
export async function checkCommandLine(args: string[]): Promise<void> {
  await inertProgram().parseAsync(args, { from: 'user' });
}

/** Values of an option in a command line. */
export function optionValues(args: string[], option: string): string[] {
  return args.flatMap((word, i) => (word === option ? [args[i + 1]!] : []));
}
