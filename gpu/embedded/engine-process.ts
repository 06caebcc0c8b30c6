/**
 * The entry of an engine's process: serves the calls of its parent over the IPC channel and ends with it. Between two decode
 * steps the message queue has its turn, so other calls and aborts are answered during a generation.
 */
import { EmbeddedEngine } from './engine.ts';
import { toSentError, type FromProcess, type ToProcess } from './engine-protocol.ts';

let engine: EmbeddedEngine | undefined;
const generations = new Map<number, AbortController>();

function send(message: FromProcess): void {
  // The channel may close between a step and its report; the process then ends by the disconnect event.
  if (process.connected) process.send!(message);
}

async function answer(id: number, work: () => Promise<unknown>): Promise<void> {
  try {
    send({ type: 'result', id, value: await work() });
  } catch (error) {
    send({ type: 'failure', id, error: toSentError(error) });
  }
}

function opened(): EmbeddedEngine {
  if (!engine) throw new Error('the engine process was called before it was opened');
  return engine;
}

function receive(message: ToProcess): void {
  switch (message.type) {
    case 'open':
      engine = new EmbeddedEngine(message.settings);
      send({ type: 'ready' });
      break;
    case 'call': {
      const { id, name, args } = message;
      const call = opened()[name] as (...args: unknown[]) => Promise<unknown>;
      void answer(id, () => call.apply(engine, args));
      break;
    }
    case 'generate': {
      const { id, request } = message;
      const controller = new AbortController();
      generations.set(id, controller);
      void answer(id, () =>
        opened().generate(
          request,
          (completions) => send({ type: 'completions', id, completions }),
          controller.signal,
        ),
      ).finally(() => generations.delete(id));
      break;
    }
    case 'abort':
      generations.get(message.id)?.abort();
      break;
  }
}

process.on('message', receive);
process.on('disconnect', () => process.exit(0));
// The parent may have gone before this line was reached.
if (!process.connected) process.exit(0);
// Ctrl-C reaches the whole process group; the parent decides when the engine ends.
process.on('SIGINT', () => {});
