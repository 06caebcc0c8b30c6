/**
 * An engine as one attempt uses it: when the attempt must end, its calls reject at once. What the engine is doing for them it does
 * to the end (a generation is aborted by its own signal); nobody reads it, and an update that follows begins anew.
 */
import { aroundCalls } from '../gpu/around-calls.ts';
import type { Engine } from '../gpu/engine-port.ts';

export function abandonable(engine: Engine, signal: AbortSignal): Engine {
  return aroundCalls((_, call) => unlessAborted(() => call(engine), signal));
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
