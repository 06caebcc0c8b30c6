/** Memory of arrays that nothing refers to any more goes back to the system with a collection, which V8 may put off for long. */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export async function collectGarbage(): Promise<void> {
  // The frames of the caller may still refer to what it let go of.
  await setImmediate();
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  // The second waits for the threads that free what the first has found.
  collect();
}
