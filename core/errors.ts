/**
 * Errors, typed by cause. Each cause fixes in one place whether a retry can help and which exit code the CLI ends with.
 * A message names the field or file, the bad value, and what was expected.
 */
export const causes = {
  RecipeError: { retryable: false, exitCode: 2 },
  DataError: { retryable: false, exitCode: 3 },
  ModelError: { retryable: false, exitCode: 4 },
  PortError: { retryable: false, exitCode: 5 },
  TemporalError: { retryable: true, exitCode: 6 },
  StoreError: { retryable: true, exitCode: 7 },
  RunExistsError: { retryable: false, exitCode: 8 },
  RunNotFoundError: { retryable: false, exitCode: 9 },
  EngineError: { retryable: true, exitCode: 10 },
  EnvironmentError: { retryable: true, exitCode: 11 },
  StaleParentError: { retryable: false, exitCode: 12 },
  CorruptArtifactError: { retryable: false, exitCode: 13 },
  SetupError: { retryable: false, exitCode: 14 },
  FencedError: { retryable: true, exitCode: 15 },
  WorkerShutdown: { retryable: true, exitCode: 16 },
  UsageError: { retryable: false, exitCode: 64 },
} as const;

export type Cause = keyof typeof causes;

export class RekindleError extends Error {
  readonly kind: Cause;
  /** What the reader should do next, one sentence; shown under the message. */
  readonly hint: string | undefined;
  /** Whether the same call can succeed later: fixed by the cause, unless this fault is known to be permanent. */
  readonly retryable: boolean;

  constructor(
    cause: Cause,
    message: string,
    options: { hint?: string; cause?: unknown; permanent?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = cause;
    this.kind = cause;
    this.hint = options.hint;
    this.retryable = causes[cause].retryable && !options.permanent;
  }

  get exitCode(): number {
    return causes[this.kind].exitCode;
  }
}

export function isCause(error: unknown, cause: Cause): error is RekindleError {
  return error instanceof RekindleError && error.kind === cause;
}

/** An error that only a mistake in the program throws: it would come again. An allocation that failed may pass. */
export function isDefect(error: unknown): boolean {
  const { name, message } = error instanceof Error ? error : { name: '', message: '' };
  return defectNames.includes(name) && message !== 'Array buffer allocation failed';
}

const defectNames = ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError', 'ZodError'];
