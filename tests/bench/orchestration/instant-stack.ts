/** A stack whose engines take as long as they are told to, so that what is measured is everything else. */
import { fileURLToPath } from 'node:url';
import { pools } from '../../../core/ids.ts';
import type { EngineTimes } from '../../harness/instant-engine.ts';
import { startStack, type TestStack } from '../../harness/stack.ts';

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Starts the stack with a process for each pool, and ends it when `use` has. */
export async function withInstantStack<T>(
  { generateSeconds, stepSeconds }: EngineTimes,
  use: (stack: TestStack) => Promise<T>,
): Promise<T> {
  const program = [
    ...['--import', file('../../harness/typescript-loader.mjs')],
    file('../../harness/instant-worker.ts'),
  ];
  const stack = await startStack(
    pools.map((pool) => [pool]),
    program,
    { INSTANT_GENERATE_SECONDS: String(generateSeconds), INSTANT_STEP_SECONDS: String(stepSeconds) },
  );
  try {
    return await use(stack);
  } finally {
    await stack.stop();
  }
}
