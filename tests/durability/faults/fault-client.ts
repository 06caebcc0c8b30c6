/** The worker's side: tells the test of each fault point that it reaches, and waits there for the order. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { answerSchema, type FaultPoint, type Order } from './fault-point.ts';

export type Report = (point: FaultPoint) => Promise<Order>;

/** Connects to the socket of a `FaultControl`. */
export async function connectFaults(socketPath: string): Promise<Report> {
  const socket = connect(socketPath);
  await once(socket, 'connect');
  socket.unref();
  const waiting = new Map<number, (order: Order) => void>();
  createInterface(socket).on('line', (line) => {
    const { id, order } = answerSchema.parse(JSON.parse(line));
    waiting.get(id)?.(order);
    waiting.delete(id);
  });
  let next = 0;
  return (point) =>
    new Promise((resolve) => {
      const id = next++;
      waiting.set(id, resolve);
      socket.write(`${JSON.stringify({ id, point })}\n`);
    });
}
