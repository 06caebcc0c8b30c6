/** A fault other than a death, made in a run of its own: what is made, and how it is seen to have happened. */
import { verifyRun } from '../../store/verify.ts';
import { resultOf, tinyRecipe, type FaultyStack } from './faulty-stack.ts';
import type { Durability } from './matrix.ts';
import type { Outcome } from './outcome.ts';

export interface OtherFault {
  name: string;
  durability: Durability;
  /** Makes the fault while the run goes on; how it was seen. */
  make(stack: FaultyStack, run: string, startAgain: () => Promise<void>): Promise<string>;
}

/** Iterations of each run. */
export const otherFaultIterations = 2;

export async function runWithFault(
  stack: FaultyStack,
  { name, durability, make }: OtherFault,
  undisturbed: readonly string[],
): Promise<Outcome> {
  const run = name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const set = [`rollout.durability=${durability}`, `training.iterations=${otherFaultIterations}`];
  const start = async () => void (await stack.rekindle.train(tinyRecipe, { run, set }));
  const made = make(stack, run, start);
  await start();
  const witness = await made;
  const { weights } = await resultOf(stack.rekindle.run(run));
  return {
    ...{ fault: name, run, witness },
    weightsEqual: weights === undisturbed[otherFaultIterations - 1],
    verification: await verifyRun(stack.store, run, { finished: true }),
  };
}
