/** Runs that were left alone, to compare others with. */
import type { TrainRunInput } from '../../core/contracts.ts';
import { committedEntries } from '../../store/run-history.ts';
import { resultOf, type FaultyStack } from './faulty-stack.ts';

/** Hashes of the weights after each iteration. Throws unless each iteration learned something. */
export async function undisturbedWeights(
  stack: FaultyStack,
  recipe: TrainRunInput['recipe'],
  run: string,
  iterations: number,
  overrides: readonly string[] = [],
): Promise<string[]> {
  const set = [...overrides, `training.iterations=${iterations}`];
  await resultOf(await stack.rekindle.train(recipe, { run, set }));
  const entries = await committedEntries(stack.store, run);
  const learned = entries.filter(({ kind, update }) => kind === 'reinforcement' && update === 'applied');
  if (learned.length < iterations) throw new Error(`${run}: an iteration without a signal proves nothing`);
  return learned.map(({ weights }) => weights.hash);
}
