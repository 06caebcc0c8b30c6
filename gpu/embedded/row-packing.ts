/**
 * Packs rows of a batch into right-padded rectangles [B, S] for the decoder graphs. A row of L tokens takes L - 1 positions:
 * its last token predicts nothing. Rows are taken longest first, so that those of one rectangle need little padding; which row
 * goes where depends on the rows' lengths alone.
 */
import { RekindleError } from '../../core/errors.ts';
import type { ScoredRows } from '../engine-port.ts';

export interface PackingLimits {
  /** Most positions in one rectangle of rows of so many positions, padding included. */
  limitOf: (rowPositions: number) => number;
  maxPositions: number;
  vocabSize: number;
}

export interface PackedRows {
  rows: number;
  /** S, at least 1. */
  positions: number;
  /** [B, S], padded with 0. */
  ids: Int32Array;
  /** The positions in [B * S] that predict a trained token, N of them. */
  selected: Int32Array;
  /** The trained tokens, aligned with `selected`. */
  targets: Int32Array;
  /** Where each trained token stands in the batch's arrays, aligned with `selected`. */
  sources: Int32Array;
}

/**
 * Cuts a batch into rectangles within the limit (or of one row, if that alone is longer). Rectangles without a trained token are
 * left out.
 * @throws RekindleError DataError for arrays that do not fit together, a row's first token that is trained, a row longer than
 * `maxPositions`, or a token id outside the vocabulary.
 */
export function packRows(batch: ScoredRows, limits: PackingLimits): PackedRows[] {
  check(batch, limits);
  const rows = rowsByLength(batch.rowLengths);
  const packed: PackedRows[] = [];
  for (let first = 0; first < rows.length;) {
    const positions = Math.max(1, rows[first]!.length - 1);
    const end = first + Math.max(1, Math.floor(limits.limitOf(positions) / positions));
    const rectangle = pack(batch, rows.slice(first, end), positions);
    if (rectangle.selected.length > 0) packed.push(rectangle);
    first = end;
  }
  return packed;
}

interface Row {
  /** Where its first token stands in the batch's arrays. */
  start: number;
  length: number;
}

/** Longest first; of equal length, in the batch's order. */
function rowsByLength(rowLengths: Int32Array): Row[] {
  const rows: Row[] = [];
  let start = 0;
  for (const length of rowLengths) {
    rows.push({ start, length });
    start += length;
  }
  return rows.sort((a, b) => b.length - a.length);
}

function pack(batch: ScoredRows, rows: readonly Row[], positions: number): PackedRows {
  const ids = new Int32Array(rows.length * positions);
  const selected: number[] = [];
  const sources: number[] = [];
  rows.forEach(({ start, length }, row) => {
    const first = row * positions;
    ids.set(batch.ids.subarray(start, start + Math.max(0, length - 1)), first);
    for (let t = 1; t < length; t++) {
      if (batch.trained[start + t] !== 1) continue;
      selected.push(first + t - 1);
      sources.push(start + t);
    }
  });
  return {
    rows: rows.length,
    positions,
    ids,
    selected: Int32Array.from(selected),
    targets: Int32Array.from(sources, (token) => batch.ids[token]!),
    sources: Int32Array.from(sources),
  };
}

function check(batch: ScoredRows, limits: { maxPositions: number; vocabSize: number }): void {
  const { ids, rowLengths, trained } = batch;
  const fail = (message: string): never => {
    throw new RekindleError('DataError', message);
  };
  const total = rowLengths.reduce((sum, length) => sum + length, 0);
  if (total !== ids.length) fail(`rowLengths add up to ${total}, but ids holds ${ids.length} tokens`);
  if (trained.length !== ids.length) fail(`trained has ${trained.length} entries for ${ids.length} tokens`);
  const outside = ids.findIndex((id) => id < 0 || id >= limits.vocabSize);
  if (outside >= 0) fail(`ids[${outside}] is ${ids[outside]}, expected 0 to ${limits.vocabSize - 1}`);
  let start = 0;
  rowLengths.forEach((length, row) => {
    if (length < 0 || length > limits.maxPositions) {
      fail(`row ${row} has ${length} tokens, expected at most ${limits.maxPositions} (maxPositions)`);
    }
    if (length > 0 && trained[start] === 1) fail(`row ${row}: its first token is marked as trained`);
    start += length;
  });
}
