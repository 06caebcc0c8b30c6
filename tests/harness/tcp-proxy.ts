/** A relay before a server, whose connections a test can cut in the midst of a call. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface TcpProxy {
  address: string;
  /**
   * Waits for the next bytes of a client, hands them on, and then resets all connections, so that the server has the request and the
   * client never gets the reply. Resolves to how many connections there were.
   */
  cutAtNextRequest(): Promise<number>;
  close(): void;
}

interface Connection {
  client: Socket;
  server: Socket;
}

export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const [host, port] = target.split(':');
  const open = new Set<Connection>();
  const proxy = createServer((client) => {
    const connection = { client, server: connect(Number(port), host) };
    open.add(connection);
    for (const socket of [client, connection.server]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(connection);
        client.destroy();
        connection.server.destroy();
      });
    }
    client.pipe(connection.server);
    connection.server.pipe(client);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async cutAtNextRequest() {
      const asked = new AbortController();
      const { signal } = asked;
      await Promise.race([...open].map(({ client }) => once(client, 'data', { signal })));
      const cut = [...open];
      for (const { client, server } of cut) server.unpipe(client);
      asked.abort();
      await Promise.all(
        cut.map(async ({ client, server }) => {
          const closed = once(client, 'close');
          server.end(() => client.resetAndDestroy());
          await closed;
        }),
      );
      return cut.length;
    },
    close() {
      proxy.close();
      for (const { client, server } of open) {
        client.destroy();
        server.destroy();
      }
    },
  };
}
