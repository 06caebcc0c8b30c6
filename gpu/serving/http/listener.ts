/**
 * The HTTP side of a server: listens, checks who asks, finds the route, and answers errors. Closing stops accepting at once, so
 * that connections kept alive end with their next answer, and waits for those that are being answered.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RekindleError } from '../../../core/errors.ts';
import { authorize, checkAccess, type AccessSettings } from './access.ts';
import { Exchange } from './exchange.ts';
import { HttpError, toHttpError } from './http-error.ts';

export type Handler = (exchange: Exchange) => Promise<void> | void;
/** Handlers by `METHOD /path`. */
export type Routes = ReadonlyMap<string, Handler>;

export interface ListenerSettings extends AccessSettings {
  /** 0 takes a free one. */
  port: number;
  maxBodyBytes: number;
  /** Hears of every answer. */
  onAnswer?: (path: string, status: number) => void;
}

const LAST_BYTES_MS = 1_000;

export class Listener {
  readonly #settings: ListenerSettings;
  readonly #routes: Routes;
  readonly #server: Server;
  #closing = false;

  private constructor(settings: ListenerSettings, routes: Routes) {
    this.#settings = settings;
    this.#routes = routes;
    this.#server = createServer((request, response) => {
      const exchange = new Exchange(request, response, settings.maxBodyBytes);
      const path = pathOf(request.url);
      response.on('finish', () => {
        settings.onAnswer?.(this.#knows(path) ? path : 'other', response.statusCode);
        if (this.#closing) setImmediate(() => this.#server.closeIdleConnections());
      });
      if (this.#closing) response.setHeader('connection', 'close');
      void this.#answer(`${request.method} ${path}`, exchange, () =>
        authorize(settings, path, request.headers),
      );
    });
  }

  /** @throws RekindleError UsageError when the settings would open the server to others, PortError when it cannot listen. */
  static async open(settings: ListenerSettings, routes: Routes): Promise<Listener> {
    checkAccess(settings);
    const listener = new Listener(settings, routes);
    await listener.#listen();
    return listener;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Refuses what comes from now on; answers that are under way go on. */
  stopAccepting(): void {
    this.#closing = true;
    this.#server.close();
    this.#server.closeIdleConnections();
  }

  /** Waits for the last bytes of the answers, then ends every connection. */
  async end(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.once('close', resolve));
    if (this.#server.listening) this.stopAccepting();
    const timer = setTimeout(() => this.#server.closeAllConnections(), LAST_BYTES_MS);
    if (await this.#hasConnections()) await closed;
    clearTimeout(timer);
  }

  #hasConnections(): Promise<boolean> {
    return new Promise((resolve) => this.#server.getConnections((_, count) => resolve(count > 0)));
  }

  #listen(): Promise<void> {
    const { host, port } = this.#settings;
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error) =>
        reject(
          new RekindleError('PortError', `cannot listen on ${host}:${port}: ${error.message}`, {
            hint: 'Choose another with --port; 0 takes a free one.',
          }),
        ),
      );
      this.#server.listen(port, host, resolve);
    });
  }

  #knows(path: string): boolean {
    return [...this.#routes.keys()].some((route) => route.endsWith(` ${path}`));
  }

  async #answer(route: string, exchange: Exchange, check: () => void): Promise<void> {
    try {
      check();
      if (this.#closing) throw new HttpError(503, 'the server is shutting down', { retryAfter: 1 });
      const handler = this.#routes.get(route);
      if (!handler) throw this.#unknown(route);
      await handler(exchange);
    } catch (error) {
      const refusal = toHttpError(error);
      if (exchange.answered || exchange.signal.aborted) return;
      const { retryAfter } = refusal.details;
      exchange.sendJson(
        refusal.status,
        refusal.body,
        retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
      );
    }
  }

  #unknown(route: string): HttpError {
    const path = route.slice(route.indexOf(' ') + 1);
    return this.#knows(path)
      ? new HttpError(405, `${route}: this path takes another method`)
      : new HttpError(404, `${route}: no such path`);
  }
}

function pathOf(url = '/'): string {
  return url.split('?')[0]!;
}
