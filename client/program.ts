/** The command line: parses, runs one command, and turns whatever it throws into a message and an exit code. */
import { CommanderError, Command } from 'commander';
import { causes } from '../core/errors.ts';
import { commands } from './commands/index.ts';
import { Interrupted, interruptedExitCode, type Io } from './terminal/io.ts';
import { Output } from './terminal/output.ts';
import { packageVersion } from './version.ts';

const parserHint = 'Run it with --help for what it takes.';

/** Runs a command line (without the program's name) and returns its exit code. */
export async function runCli(args: string[], io: Io): Promise<number> {
  let exitCode = 0;
  const program = new Command('rekindle')
    .description('Durable RL post-training for LLM agents, on Temporal.')
    .version(packageVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    })
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .showHelpAfterError(parserHint);
  for (const register of commands) register(program, io, (code) => (exitCode = code));
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      if (args.includes('--json')) writeUsageError(io, error);
      return causes.UsageError.exitCode;
    }
    if (error instanceof Interrupted) {
      io.stderr.write(`${error.message}\n`);
      return interruptedExitCode;
    }
    const verbose = args.includes('--verbose') || Boolean(io.env['REKINDLE_DEBUG']);
    return new Output(io, args.includes('--json')).error(error, verbose);
  }
}

/** The parser has told people on stderr already; this is for programs. */
function writeUsageError(io: Io, { message }: CommanderError): void {
  const error = { kind: 'UsageError', message: message.replace(/^error: /, ''), hint: parserHint };
  io.stdout.write(`${JSON.stringify({ error })}\n`);
}
