/** Requests to the hub: with the token, tried again when a failure may pass, and with errors that say what to do. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RekindleError } from '../../core/errors.ts';
import { describeRepository, hubError, type HubRepository } from './hub-repository.ts';
import type { HubSettings } from './hub-settings.ts';

const attempts = 5;
const firstWaitMs = 250;
const mayPass = new Set([408, 425, 429, 500, 502, 503, 504]);

/** A failure after which the same request may succeed. */
export class PassingFailure extends Error {
  readonly waitMs: number | undefined;

  constructor(message: string, options: { cause?: unknown; waitMs?: number | undefined } = {}) {
    super(message, options);
    this.waitMs = options.waitMs;
  }
}

export function authorization({ token }: HubSettings): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/**
 * Fetches a URL of the hub.
 * @throws PassingFailure when trying again can help, RekindleError when it cannot.
 */
export async function hubFetch(
  url: string,
  repository: HubRepository,
  init: { headers: Record<string, string>; signal?: AbortSignal | undefined },
): Promise<Response> {
  const response = await fetch(url, {
    headers: init.headers,
    ...(init.signal && { signal: init.signal }),
  }).catch((error: unknown) => {
    init.signal?.throwIfAborted();
    throw new PassingFailure(reasonOf(error), { cause: error });
  });
  if (response.ok || response.status === 416) return response;
  await response.body?.cancel();
  if (mayPass.has(response.status)) {
    const seconds = Number(response.headers.get('retry-after') ?? NaN);
    const waitMs = seconds >= 0 && seconds <= 60 ? seconds * 1000 : undefined;
    throw new PassingFailure(`the hub answers ${response.status}`, { waitMs });
  }
  throw refusal(response.status, repository);
}

function refusal(status: number, repository: HubRepository): RekindleError {
  const what = describeRepository(repository);
  if (status === 401 || status === 403) {
    return hubError(repository, `${what} may not be read (the hub answers ${status})`, {
      hint: 'It is private, gated or misspelt: accept its terms on its page, and set HF_TOKEN to a token that may read it.',
    });
  }
  if (status === 404) {
    return hubError(repository, `${what} does not exist (the hub answers 404)`, {
      hint: 'Check the owner, the name and the revision: <owner>/<name>[@<revision>]. A private one needs HF_TOKEN.',
    });
  }
  return hubError(repository, `${what} cannot be had: the hub answers ${status}`, {
    hint: 'Check HF_ENDPOINT.',
  });
}

/**
 * Does something with the hub up to five times, waiting longer each time. A try that says it got further starts the count anew.
 * @throws RekindleError with the last failure.
 */
export async function persistently<T>(
  repository: HubRepository,
  attempt: (gotFurther: () => void) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (let failures = 0; ;) {
    try {
      return await attempt(() => (failures = 0));
    } catch (error) {
      if (!(error instanceof PassingFailure)) throw error;
      failures++;
      if (failures >= attempts) {
        throw hubError(
          repository,
          `${describeRepository(repository)} cannot be downloaded: ${error.message}`,
          {
            hint: 'Check the network and HF_ENDPOINT, then run it again: what has come is kept.',
            cause: error,
          },
        );
      }
      await sleep(error.waitMs ?? firstWaitMs * 2 ** (failures - 1), undefined, signal && { signal });
    }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
