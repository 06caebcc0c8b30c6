/** Against a server that accepts connections and never answers. */
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Connection } from '@temporalio/client';
import { expect, it } from 'vitest';
import { Calls } from './calls.ts';

it('ends a call in flight, so that the connection can be closed without an error that nobody catches', async () => {
  const server = createHttp2Server();
  const asked = new Promise<void>((resolve) => server.on('stream', () => resolve()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const connection = Connection.lazy({ address: `127.0.0.1:${(server.address() as AddressInfo).port}` });
  const calls = new Calls(connection);
  const uncaught: unknown[] = [];
  const catchIt = (error: unknown): void => void uncaught.push(error);
  process.on('uncaughtException', catchIt);
  try {
    const call = calls.make(() => connection.workflowService.getSystemInfo({}));
    const ended = expect(call).rejects.toMatchObject({ code: 1 });
    await asked;
    await calls.end();
    await ended;
    await connection.close();
    // Longer than the SDK's first wait before it repeats a call.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(uncaught).toEqual([]);
  } finally {
    process.off('uncaughtException', catchIt);
    server.close();
  }
});
