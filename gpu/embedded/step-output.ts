/** What the forward graph says of the tokens that follow. */

/** Tokens in one block of the two-level search. */
export const SAMPLING_BLOCK = 128;

export function blockCount(vocabSize: number): number {
  return Math.ceil(vocabSize / SAMPLING_BLOCK);
}

/** What follows some tokens, row-major: [rows, vocabSize], [rows, vocabSize] and [rows, blockCount]. */
export interface StepArrays {
  vocabSize: number;
  /** Over the temperature. */
  logitsBV: Float32Array;
  /** Their softmax. */
  probabilitiesBV: Float32Array;
  /** Sums of `SAMPLING_BLOCK` consecutive probabilities. */
  blockSumsBN: Float32Array;
}

/** One row of it. */
export interface NextToken {
  logits: Float32Array;
  probabilities: Float32Array;
  blockSums: Float32Array;
}

export interface StepOutput extends StepArrays {
  /** The rows: views, so whatever writes the arrays anew writes them too. */
  next: readonly NextToken[];
}

export function stepOutput(arrays: StepArrays): StepOutput {
  const { vocabSize, logitsBV, probabilitiesBV, blockSumsBN } = arrays;
  const blocks = blockCount(vocabSize);
  const next = Array.from({ length: logitsBV.length / vocabSize }, (_, row) => ({
    logits: logitsBV.subarray(row * vocabSize, (row + 1) * vocabSize),
    probabilities: probabilitiesBV.subarray(row * vocabSize, (row + 1) * vocabSize),
    blockSums: blockSumsBN.subarray(row * blocks, (row + 1) * blocks),
  }));
  return { ...arrays, next };
}
