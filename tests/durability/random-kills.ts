/** Kills at random moments over one run: victim and moment are functions of a seed. */
import { setTimeout as delay } from 'node:timers/promises';
import { integerAt, seedAt, uniformAt } from '../../core/seeds.ts';
import { iterationsDone } from '../../core/policy.ts';
import { verifyRun } from '../../store/verify.ts';
import { resultOf, type FaultyStack } from './faulty-stack.ts';
import { victims, type Durability } from './matrix.ts';
import type { Outcome } from './outcome.ts';

export interface RandomKills {
  recipe: string;
  durability: Durability;
  kills: number;
  seed: number;
}

/** Longest wait before a kill, in milliseconds: about as long as a worker that was killed needs to work again. */
const longestWait = 1_500;

/** Iterations over which so many kills are spread. */
export function iterationsForKills(kills: number): number {
  return Math.max(3, Math.ceil(kills / 4));
}

/** Each kill is an outcome; all share their run. `undisturbed` are the weights after each iteration of a run that was left alone. */
export async function runWithRandomKills(
  stack: FaultyStack,
  { recipe, durability, kills, seed }: RandomKills,
  undisturbed: readonly string[],
  onKill: () => void = () => undefined,
): Promise<Outcome[]> {
  const run = `random-${durability}-${seed}`;
  const iterations = iterationsForKills(kills);
  const set = [`rollout.durability=${durability}`, `training.iterations=${iterations}`];
  const result = resultOf(await stack.rekindle.train(recipe, { run, set }));
  let over = false;
  const end = result.finally(() => (over = true));
  end.catch(() => undefined);
  const dice = seedAt(seed, 'chat');
  const words: string[] = [];
  for (let kill = 0; kill < kills && !over; kill++) {
    const iteration = Math.floor((kill * (iterations - 1)) / kills);
    while (!over && (await iterationsOf(stack, run)) < iteration) await delay(20);
    await delay(longestWait * uniformAt(dice, 2 * kill));
    const victim = victims[integerAt(dice, 2 * kill + 1, victims.length)]!;
    let witness = await stack.kill(victim);
    for (; witness === undefined && !over; witness = await stack.kill(victim)) await delay(20);
    if (witness?.signal !== 'SIGKILL' || over) break;
    words.push(`${victim}: pid ${witness.pid} ended by SIGKILL at ${witness.at}`);
    onKill();
  }
  const weightsEqual = (await end).weights === undisturbed[iterations - 1];
  const verification = await verifyRun(stack.store, run, { finished: true });
  return Array.from({ length: kills }, (_, kill) => ({
    fault: `SIGKILL ${kill + 1} of ${kills} at random, seed ${seed}`,
    ...{ run, weightsEqual, verification, witness: words[kill] ?? null },
  }));
}

async function iterationsOf(stack: FaultyStack, run: string): Promise<number> {
  const head = await stack.store.head(run);
  return head === undefined ? 0 : iterationsDone(head);
}
