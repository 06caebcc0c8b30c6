/**
 * The entry of an engine's process: serves the calls of its parent over the IPC channel and ends with it. Between two decode
 * steps the message queue has its turn, so other calls and aborts are answered during a generation.
 */
import { once } from 'node:events';
import type { ServeRequest } from '../serving/start-serving.ts';
import type { TokenDelta } from '../engine-port.ts';
import { EmbeddedEngine, type EmbeddedEngineSettings } from './engine.ts';
import { gathered } from './gathered-tokens.ts';
import { toSentError, type FromProcess, type ToProcess } from './engine-protocol.ts';

let engine: EmbeddedEngine | undefined;
let settings: EmbeddedEngineSettings | undefined;
/** Why there is no engine: its settings do not fit together. Told to every call, since the next process would fail alike. */
let refusal: Error | undefined;
/** Of the generations and servers that go on. */
const controllers = new Map<number, AbortController>();

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

function open(asked: EmbeddedEngineSettings): void {
  settings = asked;
  try {
    engine = new EmbeddedEngine(asked);
  } catch (error) {
    refusal = error as Error;
  }
}

function opened(): EmbeddedEngine {
  if (refusal !== undefined) throw refusal;
  if (!engine) throw new Error('the engine process was called before it was opened');
  return engine;
}

/** Work that goes on until it is done or aborted. */
function begin(id: number, work: (signal: AbortSignal) => Promise<void>): void {
  const controller = new AbortController();
  controllers.set(id, controller);
  void answer(id, () => work(controller.signal)).finally(() => controllers.delete(id));
}

async function serve(id: number, request: ServeRequest, signal: AbortSignal): Promise<void> {
  // Most engines serve nothing, and start sooner without it.
  const { startServing } = await import('../serving/start-serving.ts');
  const server = await startServing(opened(), settings!.config, request);
  send({ type: 'listening', id, port: server.port });
  if (!signal.aborted) await once(signal, 'abort');
  await server.close(request.graceSeconds);
}

function receive(message: ToProcess): void {
  switch (message.type) {
    case 'open':
      open(message.settings);
      send({ type: 'ready' });
      break;
    case 'call': {
      const { id, name, args } = message;
      void answer(id, () => {
        const call = opened()[name] as (...args: unknown[]) => Promise<unknown>;
        return call.apply(engine, args);
      });
      break;
    }
    case 'generate': {
      const { id, request, streams } = message;
      const tell = (deltas: TokenDelta[]): void => send({ type: 'tokens', id, deltas });
      const { tellEvery } = request;
      const onTokens = streams ? (tellEvery === undefined ? tell : gathered(tellEvery, tell)) : undefined;
      begin(id, (signal) =>
        opened().generate(
          request,
          (completions) => send({ type: 'completions', id, completions }),
          signal,
          onTokens,
        ),
      );
      break;
    }
    case 'serve': {
      const { id, request } = message;
      begin(id, (signal) => serve(id, request, signal));
      break;
    }
    case 'abort':
      controllers.get(message.id)?.abort();
      break;
  }
}

process.on('message', receive);
process.on('disconnect', () => process.exit(0));
// The parent may have gone before this line was reached.
if (!process.connected) process.exit(0);
// Ctrl-C reaches the whole process group; the parent decides when the engine ends.
process.on('SIGINT', () => {});
