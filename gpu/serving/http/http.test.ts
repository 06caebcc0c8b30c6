import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { expect, it, test } from 'vitest';
import { inFlight, startTestServer, type TestServer } from '../../../tests/fixtures/serving.ts';
import { checkAccess } from './access.ts';

/** A request with headers of one's own choice, which fetch does not allow. */
async function send(
  server: TestServer,
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<{ status: number; body: string; headers: IncomingMessage['headers'] }> {
  const request = httpRequest(`${server.url}${path}`, { method, headers });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode!, body, headers: response.headers };
}

test.each(['0.0.0.0', '::', '192.168.1.7', 'example.com', '127.0.0.1.example.com'])(
  'refuses to serve on %s without a token',
  (host) => {
    expect(() => checkAccess({ host, token: null })).toThrow(/refusing to serve on .* without a token/);
    expect(() => checkAccess({ host, token: 's' })).not.toThrow();
  },
);

test.each(['127.0.0.1', '127.8.9.10', '::1', 'localhost'])('serves on %s without one', (host) => {
  expect(() => checkAccess({ host, token: null })).not.toThrow();
});

it('refuses an empty token', () => {
  expect(() => checkAccess({ host: '127.0.0.1', token: '' })).toThrow('the token is empty');
});

it('with a token asks every request but /health for it', async () => {
  const server = await startTestServer({ settings: { token: 'secret' } });
  const status = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
    (await server.get(path, { headers })).status;
  expect(await status('/health')).toBe(200);
  for (const path of ['/v1/models', '/metrics', '/health_generate', '/nowhere']) {
    expect(await status(path), path).toBe(401);
  }
  for (const authorization of ['Bearer wrong', 'Bearer secre', 'Bearer', 'Basic secret', 'secret']) {
    expect(await status('/v1/models', { authorization }), authorization).toBe(401);
  }
  expect(await status('/v1/models', { authorization: 'Bearer secret' })).toBe(200);
  const refused = await (await server.get('/v1/models')).json();
  expect(refused).toMatchObject({ error: { type: 'authentication_error', code: 'invalid_api_key' } });
});

it('on a loopback address answers only requests that name one', async () => {
  const server = await startTestServer();
  const { port } = new URL(server.url);
  for (const host of ['attacker.example', `attacker.example:${port}`, 'localhost.attacker.example']) {
    expect((await send(server, '/v1/models', { host })).status, host).toBe(403);
  }
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
    expect((await send(server, '/v1/models', { host })).status, host).toBe(200);
  }
});

it('answers no web page of another origin, and allows none to ask', async () => {
  const server = await startTestServer();
  const refused = { origin: 'https://attacker.example' };
  const answer = await send(server, '/flush_cache', refused, 'POST');
  expect(answer.status).toBe(403);
  expect((await send(server, '/generate', refused, 'OPTIONS')).status).toBe(403);
  expect((await send(server, '/flush_cache', { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  const own = await send(server, '/v1/models', { origin: server.url });
  expect(own.status).toBe(200);
  for (const { headers } of [answer, own]) {
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  }
});

it('names an unknown path and a wrong method', async () => {
  const server = await startTestServer();
  expect((await server.get('/v2/models')).status).toBe(404);
  expect((await server.get('/generate')).status).toBe(405);
  expect((await server.get('/health?x=1')).status).toBe(200);
});

it('refuses a body that is not JSON, or not UTF-8', async () => {
  const server = await startTestServer();
  for (const body of ['{"text": ', 'text=a', new Uint8Array([0x22, 0xff, 0x22])]) {
    const answer = await server.post('/generate', undefined, { body: body as string });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: { message: expect.stringContaining('not JSON') as string, type: 'invalid_request_error' },
    });
  }
});

it('reads no more of a body than it allows, told of its length or not', async () => {
  const server = await startTestServer({ settings: { maxBodyBytes: 1000 } });
  const large = JSON.stringify({ text: 'x'.repeat(2000) });
  const told = await server.post('/generate', undefined, { body: large });
  expect(told.status).toBe(413);
  expect(await told.json()).toMatchObject({ error: { code: 'request_too_large' } });

  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.write('POST /generate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n');
  const piece = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
  socket.write(piece);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toContain('413');
  await once(socket, 'close');
});

it('tells with 503 while it ends, finishes what is in flight, and then is gone', async () => {
  const server = await startTestServer();
  const answer = server.json<{ output_ids: number[] }>('/generate', {
    text: 'the',
    sampling_params: { max_new_tokens: 200, ignore_eos: true },
  });
  await inFlight(server, 1);
  await server.server.close(30);
  expect((await answer).output_ids).toHaveLength(200);
  await expect(server.get('/health')).rejects.toThrow('fetch failed');
});

it('ends what is in flight with what it has when the grace is over', async () => {
  const server = await startTestServer();
  const answer = server.json<{ output_ids: number[]; meta_info: object }>('/generate', {
    text: 'the',
    sampling_params: { max_new_tokens: 500, ignore_eos: true },
  });
  await inFlight(server, 1);
  await server.server.close(0);
  expect((await answer).meta_info).toMatchObject({ finish_reason: { type: 'abort' } });
});

test.each(['/generate', '/v1/completions', '/tokenize'])(
  '%s refuses text that no context holds without splitting it into tokens',
  async (path) => {
    const server = await startTestServer({});
    const text = 'x'.repeat(2 ** 15);
    const response = await fetch(server.url + path, {
      method: 'POST',
      body: JSON.stringify(path === '/generate' ? { text } : { prompt: text }),
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('has 32768 characters, expected at most');
  },
);

it('refuses a body that is nested too deeply', async () => {
  const server = await startTestServer({});
  const depth = 200_000;
  const nested = '['.repeat(depth) + ']'.repeat(depth);
  for (const body of [nested, `{"prompt":"a","logit_bias":${nested}}`]) {
    const response = await fetch(`${server.url}/v1/completions`, { method: 'POST', body });
    expect(response.status).toBe(400);
  }
});
