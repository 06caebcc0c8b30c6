/** Seeds of the samples of a request: a function of the request's seed, or fresh when it has none. */
import { randomInt } from 'node:crypto';
import { seedAt, type Seed } from '../../core/seeds.ts';

const WORD = 2 ** 32;

/** Seeds of `count` samples. The first of many is that of a request for one. */
export function requestSeeds(seed: number | undefined, count: number): Seed[] {
  const root = seed ?? randomInt(2 ** 47);
  return Array.from({ length: count }, (_, sample) =>
    seedAt(root % WORD, 'serving', Math.floor(root / WORD), sample),
  );
}
