/** A relay before a server, whose connections a test can cut. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface TcpProxy {
  address: string;
  /**
   * Cuts all connections, resetting them. What has been sent to the server by now still reaches it; no reply comes back any more.
   * Resolves to how many there were.
   */
  cut(): Promise<number>;
  close(): void;
}

export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const [host, port] = target.split(':');
  const pairs = new Set<{ client: Socket; server: Socket }>();
  const proxy = createServer((client) => {
    const pair = { client, server: connect(Number(port), host) };
    pairs.add(pair);
    for (const socket of [client, pair.server]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        pairs.delete(pair);
        client.destroy();
        pair.server.destroy();
      });
    }
    client.pipe(pair.server);
    pair.server.pipe(client);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut() {
      const open = [...pairs];
      for (const { client, server } of open) {
        server.unpipe(client);
        server.end(() => client.resetAndDestroy());
      }
      return Promise.all(open.map(({ client }) => client.destroyed || once(client, 'close'))).then(
        () => open.length,
      );
    },
    close() {
      proxy.close();
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
    },
  };
}
