/** A refusal as it goes over the wire, in the shape of OpenAI's API: `{error: {message, type, param, code}}`. */
import type { z } from 'zod';
import { RekindleError } from '../../../core/errors.ts';
import { shown } from '../../model/model-files.ts';

export interface HttpErrorDetails {
  /** The field at fault, as a path with dots. */
  param?: string;
  code?: string;
  /** Seconds after which the same request may succeed. */
  retryAfter?: number;
}

export class HttpError extends Error {
  readonly status: number;
  readonly details: HttpErrorDetails;

  constructor(status: number, message: string, details: HttpErrorDetails = {}) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.details = details;
  }

  get body(): object {
    const { param, code } = this.details;
    return {
      error: { message: this.message, type: typeOf(this.status), param: param ?? null, code: code ?? null },
    };
  }
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** 400 for a field whose value cannot be served. */
export function badField(param: string, message: string, code?: string): HttpError {
  return new HttpError(400, `${param} ${message}`, { param, ...(code !== undefined && { code }) });
}

/** Checks a body. @throws HttpError 400 that names the first wrong field, its value, and what was expected. */
export function parseBody<T extends z.ZodType>(schema: T, body: unknown): z.infer<T> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  if (issue.code === 'unrecognized_keys') {
    const param = [...issue.path, issue.keys[0]!].join('.');
    throw badField(param, 'is not a field that this server knows', 'unknown_parameter');
  }
  const value = issue.path.reduce<unknown>(
    (inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key],
    body,
  );
  const param = issue.path.join('.');
  const message = `is ${shown(value)}: ${issue.message}`;
  throw param === '' ? new HttpError(400, `the body ${message}`) : badField(param, message);
}

/** Any error as a refusal; what the caller cannot mend is 500. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof RekindleError) {
    const status = error.retryable ? 503 : error.kind === 'EngineError' ? 500 : 400;
    return new HttpError(status, error.message, status === 503 ? { retryAfter: 1 } : {});
  }
  // Of a body whose lists or objects are nested beyond what JavaScript can follow.
  if (error instanceof RangeError && error.message.includes('call stack')) {
    return new HttpError(400, 'the body is nested too deeply');
  }
  return new HttpError(500, error instanceof Error ? error.message : String(error));
}
