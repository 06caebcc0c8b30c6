/** What a command may touch of its process, so that a test can run one with its own streams and signals. */
import type { Readable, Writable } from 'node:stream';

export interface Io {
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
  /** Whether a person sees what goes to stderr as it comes. */
  interactive: boolean;
  env: NodeJS.ProcessEnv;
  /** Calls `listener` on each Ctrl-C or termination request; returns the function that ends this. */
  onInterrupt(listener: () => void): () => void;
}

export function processIo(): Io {
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    interactive: Boolean(process.stderr.isTTY && process.stdin.isTTY) && !process.env['CI'],
    env: process.env,
    onInterrupt(listener) {
      process.on('SIGINT', listener);
      process.on('SIGTERM', listener);
      return () => {
        process.off('SIGINT', listener);
        process.off('SIGTERM', listener);
      };
    },
  };
}

/** Resolves at the first Ctrl-C. */
export function interruption(io: Io): Promise<void> {
  return new Promise((resolve) => {
    const off = io.onInterrupt(() => {
      off();
      resolve();
    });
  });
}

/** The shell's convention for a program that Ctrl-C ended. */
export const interruptedExitCode = 130;

/** What a command ends with that was broken off by Ctrl-C before it had anything to leave running. */
export class Interrupted extends Error {
  constructor() {
    super('Stopped.');
    this.name = 'Interrupted';
  }
}

/**
 * Does some work with a signal that the first Ctrl-C aborts, with `Interrupted` as the reason. A second Ctrl-C is left to
 * the system: it ends the process at once.
 */
export async function interruptible<T>(io: Io, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const off = io.onInterrupt(() => {
    off();
    controller.abort(new Interrupted());
  });
  try {
    return await work(controller.signal);
  } finally {
    off();
  }
}
