/**
 * Packs rows of a batch into right-padded rectangles [B, S] for the decoder graphs. A row of L tokens takes L - 1 positions:
 * its last token predicts nothing. Rows keep their order; the cut depends on the rows alone.
 */
import { RekindleError } from '../../core/errors.ts';
import type { ScoredRows } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';

const ACTIVATION_BUDGET_BYTES = 512 * 2 ** 20;
const FEWEST_POSITIONS = 256;
/** Larger runs gain nothing, since their activations leave the processor's caches. */
const MOST_POSITIONS = 2048;

/**
 * Most positions in one run of a graph for a model, so that its activations stay within half a gibibyte or so. With checkpointing
 * a layer keeps its input only, until its turn comes in the backward pass.
 */
export function positionLimit(config: DecoderConfig, checkpointing = false): number {
  const { layers, hiddenSize, feedForwardSize, vocabSize } = config;
  const layer = 16 * hiddenSize + 4 * feedForwardSize;
  const floatsPerPosition = (checkpointing ? layers * hiddenSize + layer : layers * layer) + 3 * vocabSize;
  const fitting = Math.floor(ACTIVATION_BUDGET_BYTES / (4 * floatsPerPosition));
  return Math.min(MOST_POSITIONS, Math.max(FEWEST_POSITIONS, fitting));
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
 * Cuts a batch into rectangles of at most `tokenLimit` positions each (or one row, if that alone is longer). Rectangles without a
 * trained token are left out.
 * @throws RekindleError DataError for arrays that do not fit together, a row's first token that is trained, a row longer than
 * `maxPositions`, or a token id outside the vocabulary.
 */
export function packRows(
  batch: ScoredRows,
  limits: { tokenLimit: number; maxPositions: number; vocabSize: number },
): PackedRows[] {
  check(batch, limits);
  const packed: PackedRows[] = [];
  const { rowLengths } = batch;
  let first = 0;
  let firstToken = 0;
  while (first < rowLengths.length) {
    let positions = 1;
    let tokens = 0;
    let end = first;
    while (end < rowLengths.length) {
      const wider = Math.max(positions, rowLengths[end]! - 1);
      if (end > first && wider * (end - first + 1) > limits.tokenLimit) break;
      positions = wider;
      tokens += rowLengths[end]!;
      end++;
    }
    const rectangle = pack(batch, first, end, firstToken, positions);
    if (rectangle.selected.length > 0) packed.push(rectangle);
    first = end;
    firstToken += tokens;
  }
  return packed;
}

function pack(
  batch: ScoredRows,
  first: number,
  end: number,
  firstToken: number,
  positions: number,
): PackedRows {
  const ids = new Int32Array((end - first) * positions);
  const selected: number[] = [];
  const sources: number[] = [];
  let source = firstToken;
  for (let row = first; row < end; row++) {
    const start = (row - first) * positions;
    const length = batch.rowLengths[row]!;
    ids.set(batch.ids.subarray(source, source + Math.max(0, length - 1)), start);
    for (let t = 1; t < length; t++) {
      if (batch.trained[source + t] !== 1) continue;
      selected.push(start + t - 1);
      sources.push(source + t);
    }
    source += length;
  }
  return {
    rows: end - first,
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
