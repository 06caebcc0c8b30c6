/**
 * An engine as one attempt uses it: when the attempt must end, its calls reject at once. What the engine is doing for them it does
 * to the end (a generation excepted, which is aborted); nobody reads it, and an update that follows begins anew.
 */
import type { Engine } from '../gpu/engine-port.ts';

export function abandonable(engine: Engine, signal: AbortSignal): Engine {
  const call = <T>(begin: () => Promise<T>): Promise<T> => unlessAborted(begin, signal);
  return {
    describe: () => engine.describe(),
    close: () => engine.close(),
    load: (source, keep) => call(() => engine.load(source, keep)),
    release: (parts) => call(() => engine.release(parts)),
    generate: (request, onCompletions, own = signal, onTokens) =>
      engine.generate(request, onCompletions, own, onTokens),
    score: (weights, rows, temperature) => call(() => engine.score(weights, rows, temperature)),
    values: (weights, rows) => call(() => engine.values(weights, rows)),
    beginUpdate: (weights, optimizer, step) => call(() => engine.beginUpdate(weights, optimizer, step)),
    forwardBackward: (rows, loss, temperature) => call(() => engine.forwardBackward(rows, loss, temperature)),
    optimizerStep: (settings) => call(() => engine.optimizerStep(settings)),
    save: (folder) => call(() => engine.save(folder)),
  };
}

async function unlessAborted<T>(begin: () => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([begin(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
