/**
 * What a command says. Results go to stdout: text for people, or with --json one JSON object a line and nothing else.
 * Everything else (progress, notes, errors) goes to stderr.
 */
import { createColors } from 'picocolors';
import { RekindleError } from '../../core/errors.ts';
import type { Io } from './io.ts';

export type Colors = ReturnType<typeof createColors>;

export class Output {
  readonly json: boolean;
  readonly colors: Colors;
  readonly #io: Io;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.json = json;
    this.colors = createColors(io.interactive && !io.env['NO_COLOR']);
  }

  /** The command's result, in the form that was asked for. */
  result(value: unknown, text: string): void {
    this.#io.stdout.write(`${this.json ? JSON.stringify(value) : text}\n`);
  }

  /** Something to know on the way. */
  note(text: string): void {
    this.#io.stderr.write(`${text}\n`);
  }

  /** Reports an error and returns the exit code: the cause's own, 1 for an unforeseen one. */
  error(error: unknown, verbose: boolean): number {
    const { bold, red, dim } = this.colors;
    const known = error instanceof RekindleError ? error : undefined;
    const message = error instanceof Error ? error.message : String(error);
    if (this.json) {
      const value = { kind: known?.kind ?? 'Error', message, hint: known?.hint ?? null };
      this.#io.stdout.write(`${JSON.stringify({ error: value })}\n`);
    }
    this.note(`${red(bold(known?.kind ?? 'Error'))}: ${message}`);
    if (known?.hint) this.note(`  ${known.hint}`);
    if (verbose) this.note(dim(stackOf(error)));
    else if (!known) this.note(dim('  Run it again with --verbose for the stack.'));
    return known?.exitCode ?? 1;
  }
}

function stackOf(error: unknown): string {
  const stacks: string[] = [];
  for (let inner = error; inner instanceof Error; inner = inner.cause)
    stacks.push(inner.stack ?? inner.message);
  return stacks.join('\ncaused by ');
}
