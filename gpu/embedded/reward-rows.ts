/**
 * Rows of a reward head as rows of a value head. A value speaks of the tokens before a token, a reward of a whole row; so a row gets
 * one token more, which is the one that is asked about, and which nothing reads.
 */
import type { ScoredRows } from '../engine-port.ts';

export interface RewardRows extends ScoredRows {
  /** Where each row's last token stands, R of them. */
  lastR: Int32Array;
}

export function rewardRows({ ids, rowLengths }: Pick<ScoredRows, 'ids' | 'rowLengths'>): RewardRows {
  const rows = rowLengths.length;
  const longer = {
    ids: new Int32Array(ids.length + rows),
    rowLengths: rowLengths.map((length) => length + 1),
    trained: new Uint8Array(ids.length + rows),
    lastR: new Int32Array(rows),
  };
  let start = 0;
  rowLengths.forEach((length, row) => {
    longer.ids.set(ids.subarray(start, start + length), start + row);
    start += length;
    const last = start + row;
    longer.lastR[row] = last;
    longer.trained[last] = Number(length > 0);
  });
  return longer;
}

/** An array of the longer rows that holds one number of each row, at its last token. */
export function atLastTokens({ ids, lastR }: RewardRows, valuesR: ArrayLike<number>): Float32Array {
  const valuesT = new Float32Array(ids.length);
  lastR.forEach((last, row) => (valuesT[last] = valuesR[row]!));
  return valuesT;
}

/** The numbers at the last tokens of the longer rows, one a row. */
export function ofLastTokens({ lastR }: RewardRows, valuesT: Float32Array): Float32Array {
  return Float32Array.from(lastR, (last) => valuesT[last]!);
}
