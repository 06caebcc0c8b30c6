/** Temporal's errors, told in Rekindle's words: what could not be done, and what to do about it. */
import {
  isGrpcCancelledError,
  isGrpcDeadlineError,
  isGrpcServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { causes, RekindleError, type Cause } from '../core/errors.ts';
import { commandLine } from './terminal/command-line.ts';

const unavailable = 14;
const failedPrecondition = 9;

/** True for faults that pass: the server or every worker is away, or slow to answer. */
export function isTransient(error: unknown): boolean {
  if (error instanceof RekindleError) return error.kind === 'TemporalError';
  if (isGrpcDeadlineError(error) || isGrpcCancelledError(error)) return true;
  const { code } = grpcError(error) ?? {};
  return code === unavailable || code === failedPrecondition;
}

function grpcError(error: unknown): { code?: number; details?: string } | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (isGrpcServiceError(inner)) return inner;
  }
  return undefined;
}

/** The failure of a run as the error that its activity threw, found in the chain of causes. */
export function runFailure(run: string, failed: WorkflowFailedError): RekindleError {
  let message = failed.cause?.message ?? failed.message;
  let kind: Cause = 'EngineError';
  for (let inner: unknown = failed.cause; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof ApplicationFailure && inner.type && inner.type in causes) {
      kind = inner.type as Cause;
      message = inner.message;
      break;
    }
    message = inner.message;
  }
  return new RekindleError(kind, `run ${run} failed: ${message}`, {
    hint: 'Mend the cause and start the run again under its id: it goes on from its last committed version.',
    cause: failed,
  });
}

/** Translates what a call about a run threw. Errors that are not Temporal's come back as they are. */
export function explainError(error: unknown, run: string, address: string): unknown {
  if (error instanceof RekindleError) return error;
  if (error instanceof WorkflowFailedError) return runFailure(run, error);
  if (error instanceof WorkflowNotFoundError) {
    return new RekindleError('RunNotFoundError', `no run ${run} is known to Temporal at ${address}`, {
      hint: `\`${commandLine('list')}\` shows the runs.`,
      cause: error,
    });
  }
  if (error instanceof WorkflowUpdateFailedError) {
    return new RekindleError('UsageError', `run ${run} refused: ${error.cause?.message ?? error.message}`, {
      cause: error,
    });
  }
  if (!isTransient(error)) return error;
  const { code, details } = grpcError(error) ?? {};
  if (code === failedPrecondition) {
    return new RekindleError(
      'TemporalError',
      `no worker answers for run ${run}: ${details ?? String(error)}`,
      {
        hint: `Start the workers: \`${commandLine('up')}\`.`,
        cause: error,
      },
    );
  }
  return unreachable(address, error);
}

export function unreachable(address: string, cause: unknown): RekindleError {
  return new RekindleError('TemporalError', `Temporal does not answer at ${address}`, {
    hint: `Start it with \`${commandLine('up')}\`, or give its place with --address host:port.`,
    cause,
  });
}
