import type { Command } from 'commander';
import type { Io } from '../terminal/io.ts';

/** Adds one command to the program. A command that ends without an error may still set an exit code other than 0. */
export type Register = (program: Command, io: Io, setExitCode: (code: number) => void) => void;

/** For options that may be given several times. */
export function collect(value: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), value];
}
