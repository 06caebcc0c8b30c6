/**
 * The test's side of fault points. A worker that reaches one waits until the test has answered; so a process that is killed there
 * is dead before anything else happens in that activity.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { reachedSchema, type FaultPoint, type Order } from './fault-point.ts';

export interface ArmedFault<T> {
  matches(point: FaultPoint): boolean;
  /** Undefined when the fault could not be made here: it stays armed. */
  strike(point: FaultPoint): Promise<{ witness: T; order?: Order } | undefined>;
}

export class FaultControl {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #armed = new Set<(point: FaultPoint) => Promise<Order | undefined> | undefined>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#serve(socket));
  }

  static async listen(socketPath: string): Promise<FaultControl> {
    const server = createServer();
    server.listen(socketPath);
    await once(server, 'listening');
    return new FaultControl(server);
  }

  /** Arms a fault, which strikes once, at the first point that matches; its witness. Points are not held up by another's strike. */
  arm<T>({ matches, strike }: ArmedFault<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let striking = false;
      const offer = (point: FaultPoint): Promise<Order | undefined> | undefined => {
        if (striking || !matches(point)) return undefined;
        striking = true;
        return (async () => {
          try {
            const struck = await strike(point);
            if (struck === undefined) return undefined;
            this.#armed.delete(offer);
            resolve(struck.witness);
            return struck.order;
          } catch (error) {
            this.#armed.delete(offer);
            reject(error instanceof Error ? error : new Error(String(error)));
            return undefined;
          } finally {
            striking = false;
          }
        })();
      };
      this.#armed.add(offer);
    });
  }

  disarm(): void {
    this.#armed.clear();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    const lines = createInterface(socket);
    // A worker that was killed; Node tells of it twice.
    for (const emitter of [socket, lines]) emitter.on('error', () => undefined);
    lines.on('line', (line) => {
      const { id, point } = reachedSchema.parse(JSON.parse(line));
      void this.#orderAt(point).then((order) => socket.write(`${JSON.stringify({ id, order })}\n`));
    });
  }

  async #orderAt(point: FaultPoint): Promise<Order> {
    for (const offer of this.#armed) {
      const struck = offer(point);
      if (struck !== undefined) return (await struck) ?? { do: 'go-on' };
    }
    return { do: 'go-on' };
  }
}
