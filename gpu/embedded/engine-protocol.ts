/** Messages between an engine's client and its process. Calls carry ids; an answer names the call that it belongs to. */
import { isDefect, RekindleError, type Cause } from '../../core/errors.ts';
import type { Completion, Engine, GenerationRequest, TokenDelta } from '../engine-port.ts';
import type { ServeRequest } from '../serving/start-serving.ts';
import type { EmbeddedEngineSettings } from './engine.ts';

/** Engine methods that take plain arguments and give one answer. */
export type PlainCall = Exclude<keyof Engine, 'generate' | 'close'>;

export type ToProcess =
  | { type: 'open'; settings: EmbeddedEngineSettings }
  | { type: 'call'; id: number; name: PlainCall; args: unknown[] }
  | { type: 'generate'; id: number; request: GenerationRequest; streams: boolean }
  | { type: 'serve'; id: number; request: ServeRequest }
  | { type: 'abort'; id: number };

export type FromProcess =
  | { type: 'ready' }
  | { type: 'completions'; id: number; completions: Completion[] }
  | { type: 'tokens'; id: number; deltas: TokenDelta[] }
  | { type: 'listening'; id: number; port: number }
  | { type: 'result'; id: number; value: unknown }
  | { type: 'failure'; id: number; error: SentError };

/** An error as it travels: RekindleErrors keep their cause, and whether the same call can succeed later. */
export interface SentError {
  cause: Cause;
  message: string;
  hint: string | undefined;
  permanent: boolean;
}

export function toSentError(error: unknown): SentError {
  if (error instanceof RekindleError) {
    const { kind: cause, message, hint, retryable } = error;
    return { cause, message, hint, permanent: !retryable };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { cause: 'EngineError', message, hint: undefined, permanent: isDefect(error) };
}

export function fromSentError({ cause, message, hint, permanent }: SentError): RekindleError {
  return new RekindleError(cause, message, { permanent, ...(hint === undefined ? {} : { hint }) });
}
