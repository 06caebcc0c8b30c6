/** Connects to Temporal, waiting for a server that is starting or restarting. */
import { setTimeout as delay } from 'node:timers/promises';
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';

export async function connectPatiently(
  options: NativeConnectionOptions & { address: string },
): Promise<NativeConnection> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await NativeConnection.connect(options);
    } catch (error) {
      if (attempt % 10 === 0)
        process.stderr.write(`waiting for Temporal at ${options.address}: ${String(error)}\n`);
      await delay(Math.min(200 * attempt, 2000));
    }
  }
}
