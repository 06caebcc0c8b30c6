/**
 * Coordinate randomness. Every random number is a pure function of where it is used (run seed, stream, iteration, group,
 * sample, turn, token), so any draw can be repeated without replaying others: retries, re-sharding and the clock change nothing.
 *
 * Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
 */
const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;

/** High 32 bits of the unsigned product of two 32-bit words. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carry = aLow * bHigh + (middle & 0xffff);
  return (aHigh * bHigh + Math.floor(middle / 0x10000) + Math.floor(carry / 0x10000)) >>> 0;
}

export type Words4 = readonly [number, number, number, number];
/** A 64-bit key: the identity of one stream of random numbers. */
export type Seed = readonly [number, number];

/** One Philox block: four 32-bit words from a 128-bit counter and a 64-bit key. */
export function philox4x32(counter: Words4, key: Seed): Words4 {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < 10; round++) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0);
    const low0 = Math.imul(MULTIPLIER_0, c0) >>> 0;
    const high1 = multiplyHigh(MULTIPLIER_1, c2);
    const low1 = Math.imul(MULTIPLIER_1, c2) >>> 0;
    c0 = (high1 ^ c1 ^ k0) >>> 0;
    c1 = low1;
    c2 = (high0 ^ c3 ^ k1) >>> 0;
    c3 = low0;
    k0 = (k0 + WEYL_0) >>> 0;
    k1 = (k1 + WEYL_1) >>> 0;
  }
  return [c0, c1, c2, c3];
}

/** Independent purposes that draw random numbers. The values are part of every run's reproducibility: never renumber. */
export const streams = {
  initialWeights: 1,
  epochOrder: 2,
  generatedTask: 3,
  rollout: 4,
  minibatchOrder: 5,
  warmStart: 6,
  heldOut: 7,
  chat: 8,
  serving: 9,
  initialAdapter: 10,
  environment: 11,
  covarianceChoice: 12,
} as const;
export type Stream = keyof typeof streams;

/** The seed of a stream at up to three coordinates (unsigned 32-bit integers each). */
export function seedAt(runSeed: number, stream: Stream, a = 0, b = 0, c = 0): Seed {
  const [w0, w1] = philox4x32([a >>> 0, b >>> 0, c >>> 0, streams[stream]], [runSeed >>> 0, 0x52454b49]);
  return [w0, w1];
}

/** The uniform number in [0, 1) at a position of a seed's stream; 32 bits of resolution. */
export function uniformAt(seed: Seed, position: number): number {
  const block = philox4x32([position >>> 2, 0, 0, 0], seed);
  return block[(position & 3) as 0 | 1 | 2 | 3] / 0x1_0000_0000;
}

/** The seed of what follows `position` tokens that another policy sampled: its numbers are none of the seed's own. */
export function resumedSeed(seed: Seed, position: number): Seed {
  const [w0, w1] = philox4x32([position >>> 0, 1, 0, 0], seed);
  return [w0, w1];
}

/** An integer in [0, bound) at a position of a seed's stream. */
export function integerAt(seed: Seed, position: number, bound: number): number {
  return Math.floor(uniformAt(seed, position) * bound);
}

/** A permutation of 0..length-1 (Fisher-Yates), the same for the same seed. */
export function permutation(length: number, seed: Seed): Uint32Array {
  const order = Uint32Array.from({ length }, (_, i) => i);
  for (let i = length - 1; i > 0; i--) {
    const j = integerAt(seed, i, i + 1);
    const swapped = order[i]!;
    order[i] = order[j]!;
    order[j] = swapped;
  }
  return order;
}
