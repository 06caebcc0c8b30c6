/** A real server: started, found again, killed, restarted on the same data, stopped. */
import { createServer, type AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { searchAttributes } from '../../core/search-attributes.ts';
import { Supervisor } from '../supervisor.ts';
import { ensureTemporal, type TemporalServer } from './dev-server.ts';
import { serverName } from './server-process.ts';

let home: string;
let port: number;
let supervisor: Supervisor;
let server: TemporalServer;

/** A free port whose neighbour 1000 higher is, in all likelihood, free too. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port: found } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return found > 64_000 ? found - 2_000 : found;
}

async function withClient<T>(use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: server.address, connectTimeout: 20_000 });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'rekindle-temporal-'));
  port = await freePort();
  supervisor = new Supervisor(home);
  server = await ensureTemporal({ home, port, supervisor });
}, 300_000);

afterAll(async () => {
  await supervisor.stop();
  await rm(home, { recursive: true, force: true });
});

describe('our own Temporal server', () => {
  it('keeps closed runs for 30 days and knows our search attributes', async () => {
    expect(server).toMatchObject({ address: `127.0.0.1:${port}`, startedByUs: true });
    await withClient(async ({ connection }) => {
      const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
      expect(Number(config!.workflowExecutionRetentionTtl!.seconds)).toBe(30 * 24 * 3600);
      const { customAttributes } = await connection.operatorService.listSearchAttributes({
        namespace: 'default',
      });
      expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(Object.keys(searchAttributes)));
    });
  });

  it('serves a Web UI whose pages carry no content security policy that blanks them', async () => {
    const response = await fetch(`${server.uiUrl}/namespaces/default/workflows`);
    expect(response.status).toBe(200);
    const page = await response.text();
    expect(page).toContain('<html');
    expect(page).not.toMatch(/http-equiv="content-security-policy"/i);
  });

  it('is found by another start, which then neither starts nor stops one', async () => {
    const elsewhere = await mkdtemp(path.join(home, 'other-'));
    const found = await ensureTemporal({ home: elsewhere, port });
    expect(found).toMatchObject({ address: server.address, uiUrl: server.uiUrl, startedByUs: false });
    await found.stop();
    await withClient((client) => client.connection.workflowService.getSystemInfo({}));
  });

  it('killed, comes back on its port with every workflow it had', async () => {
    await withClient((client) =>
      client.workflow.start('trainRun', {
        taskQueue: 'nobody',
        workflowId: 'survivor',
        args: [{ recipe: 'x' }],
      }),
    );
    const [before] = supervisor.status();
    process.kill(before!.pid!, 'SIGKILL');
    await expect.poll(() => supervisor.status()[0]!.restarts, { timeout: 20_000 }).toBe(1);
    await expect
      .poll(
        () =>
          withClient(async (client) => (await client.workflow.getHandle('survivor').describe()).status.name),
        {
          timeout: 60_000,
        },
      )
      .toBe('RUNNING');
    expect(supervisor.status()[0]!.pid).not.toBe(before!.pid);
  });

  it('refuses an unknown namespace by name', async () => {
    await expect(ensureTemporal({ home, address: server.address, namespace: 'nowhere' })).rejects.toThrow(
      /Namespace "nowhere"/,
    );
  });

  it('stops with us', async () => {
    await server.stop();
    expect(supervisor.status().find(({ name }) => name === serverName)).toBeUndefined();
    await expect(Connection.connect({ address: server.address, connectTimeout: 500 })).rejects.toThrow();
  });
});

describe('no server to be had', () => {
  it('names the program that has the port', async () => {
    const taken = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port: takenPort } = taken.address() as AddressInfo;
    await expect(ensureTemporal({ home, port: takenPort })).rejects.toMatchObject({
      name: 'PortError',
      message: expect.stringMatching(
        new RegExp(`Port ${takenPort} on 127.0.0.1, wanted for the Temporal server, is taken: `),
      ) as string,
    });
    await new Promise((resolve) => taken.close(resolve));
  });

  it('says so when nothing answers at a given address', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    await expect(ensureTemporal({ home, address })).rejects.toMatchObject({
      name: 'TemporalError',
      message: `No Temporal server answers at ${address}`,
    });
  });
});
