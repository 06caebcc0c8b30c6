/** Connects to Temporal, waiting for a server that is starting or restarting. */
import { setTimeout as delay } from 'node:timers/promises';
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';

/** Rejects with the signal's reason when it is aborted. */
export async function connectPatiently(
  options: NativeConnectionOptions & { address: string },
  signal: AbortSignal,
): Promise<NativeConnection> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await NativeConnection.connect(options);
    } catch (error) {
      if (attempt % 10 === 0)
        process.stderr.write(`waiting for Temporal at ${options.address}: ${String(error)}\n`);
      await delay(Math.min(200 * attempt, 2000), undefined, { signal }).catch(() => undefined);
    }
  }
}
