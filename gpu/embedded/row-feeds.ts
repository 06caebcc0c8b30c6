/** Which trained tokens make up which row of a rectangle, for losses that take a mean over a row. */
import { rowInputs } from './emit-loss.ts';
import type { PackedRows } from './row-packing.ts';
import { tensor, type Tensor } from './session.ts';

/** The feeds that `rowInputs` names. */
export function rowFeeds({ rows, positions, selected }: PackedRows): Record<string, Tensor> {
  const tokens = selected.length;
  const tokensOfRow = new Int32Array(rows * positions).fill(tokens);
  const rowOfToken = new Int32Array(tokens);
  const counts = new Int32Array(rows);
  selected.forEach((position, token) => {
    const row = Math.floor(position / positions);
    rowOfToken[token] = row;
    tokensOfRow[row * positions + counts[row]!++] = token;
  });
  return {
    [rowInputs.tokensOfRow]: tensor(tokensOfRow, [rows, positions]),
    [rowInputs.inverseCounts]: tensor(
      Float32Array.from(counts, (count) => 1 / Math.max(1, count)),
      [rows, 1],
    ),
    [rowInputs.rowOfToken]: tensor(rowOfToken, [tokens]),
  };
}
