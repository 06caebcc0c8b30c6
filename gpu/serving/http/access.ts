/**
 * Who may ask. Without a token the server is for this machine alone: it listens on a loopback address and answers only requests
 * that name one, so that a web page cannot reach it through a DNS name of its own. No web page of another origin is answered.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { RekindleError } from '../../../core/errors.ts';
import { HttpError } from './http-error.ts';

export interface AccessSettings {
  host: string;
  /** Every request but `/health` must carry it; null on a loopback address only. */
  token: string | null;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** @throws RekindleError UsageError for an address that others can reach, without a token. */
export function checkAccess({ host, token }: AccessSettings): void {
  if (token === '')
    throw new RekindleError('UsageError', 'the token is empty, expected at least one character');
  if (isLoopback(host) || token !== null) return;
  throw new RekindleError('UsageError', `refusing to serve on ${host} without a token: others can reach it`, {
    hint: 'Give a token with --token or REKINDLE_SERVE_TOKEN, or serve on 127.0.0.1.',
  });
}

/** Compares in a time that tells nothing of how much of the token was right. */
function sameText(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function hostName(header: string): string {
  return header
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
}

/** @throws HttpError 401 without the token, 403 for a request that a web page of another origin may have made. */
export function authorize(settings: AccessSettings, path: string, headers: IncomingHttpHeaders): void {
  const { host, origin = null, authorization = '' } = headers;
  if (isLoopback(settings.host) && !isLoopback(hostName(host ?? ''))) {
    throw new HttpError(403, `Host is '${host ?? ''}', expected a loopback address`, { param: 'Host' });
  }
  const otherOrigin = origin !== null && origin !== `http://${host}` && origin !== `https://${host}`;
  if (otherOrigin || headers['sec-fetch-site'] === 'cross-site') {
    throw new HttpError(403, 'requests of web pages are not answered', { param: 'Origin' });
  }
  if (settings.token === null || path === '/health') return;
  const [scheme, given = ''] = authorization.split(' ');
  if (scheme?.toLowerCase() !== 'bearer' || !sameText(given, settings.token)) {
    throw new HttpError(401, 'expected the header `Authorization: Bearer <token>` with the server’s token', {
      code: 'invalid_api_key',
    });
  }
}
