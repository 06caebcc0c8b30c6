/**
 * One request and its answer. The signal tells that the caller has gone: whatever works for it may stop. An answer is either
 * one body or a stream of server-sent events.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpError, toHttpError } from './http-error.ts';

export class Exchange {
  /** Aborted when the connection closes before the answer is complete. */
  readonly signal: AbortSignal;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #maxBodyBytes: number;

  constructor(request: IncomingMessage, response: ServerResponse, maxBodyBytes: number) {
    this.#request = request;
    this.#response = response;
    this.#maxBodyBytes = maxBodyBytes;
    const gone = new AbortController();
    this.signal = gone.signal;
    response.on('close', () => {
      if (!response.writableFinished) gone.abort(new Error('the caller has gone'));
    });
  }

  get answered(): boolean {
    return this.#response.headersSent;
  }

  /** The body as JSON; `{}` when there is none. @throws HttpError 400 or 413. */
  async json(): Promise<unknown> {
    const tooLarge = (): HttpError =>
      new HttpError(413, `the body is larger than ${this.#maxBodyBytes} bytes`, {
        code: 'request_too_large',
      });
    if (Number(this.#request.headers['content-length'] ?? 0) > this.#maxBodyBytes) throw tooLarge();
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of this.#request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > this.#maxBodyBytes) throw tooLarge();
      chunks.push(chunk);
    }
    if (size === 0) return {};
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
    } catch (error) {
      throw new HttpError(400, `the body is not JSON: ${(error as Error).message}`);
    }
  }

  sendJson(status: number, value: unknown, headers: Record<string, string> = {}): void {
    this.send(status, 'application/json', JSON.stringify(value), headers);
  }

  send(status: number, type: string, text: string, headers: Record<string, string> = {}): void {
    // What is left unread of a refused body would be taken for the next request.
    const close = this.#request.complete ? {} : { connection: 'close' };
    this.#response.writeHead(status, { 'content-type': type, ...close, ...headers }).end(text);
  }

  /** Answers with a stream of events. An error before the first event is answered as such, a later one is an event. */
  async stream(work: (events: EventStream) => Promise<void>): Promise<void> {
    const events = new EventStream(this.#response);
    try {
      await work(events);
    } catch (error) {
      if (!this.answered) throw error;
      events.send(toHttpError(error).body);
    }
    events.end();
  }
}

/** Server-sent events, each one JSON value. The answer begins with the first. */
export class EventStream {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Whether the caller reads more slowly than events come. */
  get congested(): boolean {
    return this.#response.writableNeedDrain;
  }

  send(value: unknown): void {
    this.#begin();
    this.#response.write(`data: ${JSON.stringify(value)}\n\n`);
  }

  /** Ends the stream as clients expect it. */
  end(): void {
    this.#begin();
    this.#response.end('data: [DONE]\n\n');
  }

  #begin(): void {
    if (this.#response.headersSent) return;
    this.#response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  }
}
