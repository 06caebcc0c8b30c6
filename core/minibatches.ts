/**
 * The order in which rows are trained: a pure function of the run seed, iteration, epoch and row lengths. In each epoch every
 * row is in exactly one microbatch; a minibatch is one optimizer step, its microbatches are accumulated in the given order.
 */
import { permutation, seedAt } from './seeds.ts';

/** Row indices; `rows` is the microbatches joined. */
export interface Minibatch {
  rows: number[];
  microbatches: number[][];
}

export interface MinibatchSettings {
  seed: number;
  iteration: number;
  epoch: number;
  /** Most rows of one minibatch. */
  minibatchRows: number;
  /** Most padded tokens (rows times longest row) of one microbatch; a longer row is alone in its microbatch. */
  microbatchTokens: number;
}

/**
 * Minibatches of one epoch over R rows of the given lengths (tokens): ceil(R / minibatchRows) of them, whose row counts differ
 * by at most one, so that no optimizer step rests on a small remainder.
 */
export function planMinibatches(rowLengthsR: readonly number[], settings: MinibatchSettings): Minibatch[] {
  const { seed, iteration, epoch, minibatchRows, microbatchTokens } = settings;
  const order = permutation(rowLengthsR.length, seedAt(seed, 'minibatchOrder', iteration, epoch));
  const count = Math.ceil(order.length / minibatchRows);
  return Array.from({ length: count }, (_, k) => {
    const start = Math.floor((k * order.length) / count);
    const end = Math.floor(((k + 1) * order.length) / count);
    const microbatches = packMicrobatches(
      Array.from(order.subarray(start, end)),
      rowLengthsR,
      microbatchTokens,
    );
    return { rows: microbatches.flat(), microbatches };
  });
}

/** Rows in order of falling length, cut where the next row would exceed the budget: neighbours need the least padding. */
function packMicrobatches(rows: number[], rowLengthsR: readonly number[], budget: number): number[][] {
  rows.sort((a, b) => rowLengthsR[b]! - rowLengthsR[a]! || a - b);
  const microbatches: number[][] = [];
  let current: number[] = [];
  for (const row of rows) {
    const longest = rowLengthsR[current[0] ?? row]!;
    if (current.length > 0 && (current.length + 1) * longest > budget) {
      microbatches.push(current);
      current = [];
    }
    current.push(row);
  }
  if (current.length > 0) microbatches.push(current);
  return microbatches;
}
