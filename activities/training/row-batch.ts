/** Rows packed as the engine wants them: R rows of T tokens in all, concatenated. */
import type { Row } from '../../core/records.ts';
import type { RowBatch } from '../../gpu/engine-port.ts';

export interface PackedRow extends Row {
  /** Log-probs under the reference policy, aligned with `ids`; absent when the loss has no KL term. */
  referenceLogprobs?: Float32Array;
  /** The weight of each token in the policy term, aligned with `ids`; for a corrected loss every row has it. */
  importance?: Float32Array;
}

/** `weightsR` is the loss weight of each trained token of each row. */
export function packRows(rows: readonly PackedRow[], weightsR: readonly number[]): RowBatch {
  const tokens = rows.reduce((sum, row) => sum + row.ids.length, 0);
  const hasReference = rows.some((row) => row.referenceLogprobs !== undefined);
  const batch: RowBatch = {
    ids: new Int32Array(tokens),
    rowLengths: Int32Array.from(rows, (row) => row.ids.length),
    trained: new Uint8Array(tokens),
    weights: new Float32Array(tokens),
    advantages: new Float32Array(tokens),
    oldLogprobs: new Float32Array(tokens),
    referenceLogprobs: new Float32Array(hasReference ? tokens : 0),
    ...(rows.some((row) => row.importance !== undefined) && { importance: new Float32Array(tokens) }),
  };
  let start = 0;
  rows.forEach((row, r) => {
    batch.ids.set(row.ids, start);
    batch.trained.set(row.trained, start);
    batch.oldLogprobs.set(row.logprobs, start);
    if (row.referenceLogprobs !== undefined) batch.referenceLogprobs.set(row.referenceLogprobs, start);
    if (row.importance !== undefined) batch.importance?.set(row.importance, start);
    const { advantage } = row;
    let n = 0;
    row.trained.forEach((trained, t) => {
      if (trained === 0) return;
      batch.weights[start + t] = weightsR[r]!;
      batch.advantages[start + t] = typeof advantage === 'number' ? advantage : advantage[n++]!;
    });
    start += row.ids.length;
  });
  return batch;
}
