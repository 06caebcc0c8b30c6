/** A stack whose engines take as long as they are told to, so that what is measured is everything else. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pools } from '../../../core/ids.ts';
import { bundleTestProgram } from '../../harness/bundle-script.ts';
import type { EngineTimes } from '../../harness/instant-engine.ts';
import { startStack, type TestStack } from '../../harness/stack.ts';

const worker = fileURLToPath(new URL('../../harness/instant-worker.ts', import.meta.url));

/** Starts the stack with a process for each pool, and ends it when `use` has. */
export async function withInstantStack<T>(
  { generateSeconds, stepSeconds }: EngineTimes,
  use: (stack: TestStack) => Promise<T>,
): Promise<T> {
  const scratch = await mkdtemp(join(tmpdir(), 'rekindle-bench-'));
  const stack = await startStack(
    pools.map((pool) => [pool]),
    ['--enable-source-maps', await bundleTestProgram(worker, scratch)],
    { INSTANT_GENERATE_SECONDS: String(generateSeconds), INSTANT_STEP_SECONDS: String(stepSeconds) },
  );
  try {
    return await use(stack);
  } finally {
    await stack.stop();
    await rm(scratch, { recursive: true });
  }
}
