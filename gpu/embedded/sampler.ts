/**
 * Chooses the next token of one sequence from the row of logits and probabilities that the decode graph wrote for it.
 *
 * - The choice is a pure function of the row, the sampling settings and one uniform number: inverse transform over token ids
 *   in ascending order, so that top-k and top-p only take tokens out of the same order.
 * - A token of probability 0 is never chosen.
 * - The log-prob is that of the full softmax. It is taken in double precision as log(p) - log(sum p), where the sum runs in
 *   double over the block sums: this takes out the rounding of the float32 normalisation, which grows with the vocabulary.
 */
import { RekindleError } from '../../core/errors.ts';

/** Tokens in one block of the two-level search. */
export const SAMPLING_BLOCK = 128;

export function blockCount(vocabSize: number): number {
  return Math.ceil(vocabSize / SAMPLING_BLOCK);
}

/** What a decode step leaves, row-major: [rows, vocabSize], [rows, vocabSize] and [rows, blockCount]. */
export interface StepOutput {
  vocabSize: number;
  logitsBV: Float32Array;
  /** softmax(logits / temperature). */
  probabilitiesBV: Float32Array;
  /** Sums of `SAMPLING_BLOCK` consecutive probabilities. */
  blockSumsBN: Float32Array;
}

export interface SamplingRule {
  /** 0 means greedy. */
  temperature: number;
  /** 0 means all. */
  topK: number;
  topP: number;
}

export interface TokenChoice {
  id: number;
  logprob: number;
}

/**
 * Chooses a token for `row` with `uniform` in [0, 1), which greedy choice ignores (ties: the lowest id).
 * Throws EngineError when the probabilities are not finite.
 */
export function chooseToken(
  output: StepOutput,
  row: number,
  rule: SamplingRule,
  uniform: number,
): TokenChoice {
  const { vocabSize } = output;
  const blocks = blockCount(vocabSize);
  const probabilities = output.probabilitiesBV.subarray(row * vocabSize, (row + 1) * vocabSize);
  const blockSums = output.blockSumsBN.subarray(row * blocks, (row + 1) * blocks);
  const total = sum(blockSums);
  if (!(total > 0 && total < Infinity)) {
    throw new RekindleError('EngineError', `the next-token probabilities sum to ${total}, expected about 1`, {
      hint: 'The weights hold NaN or infinite values, or values so large that the logits overflow; look at the last update.',
      permanent: true,
    });
  }
  const id =
    rule.temperature === 0
      ? argmax(output.logitsBV.subarray(row * vocabSize, (row + 1) * vocabSize))
      : isRestricted(rule, vocabSize)
        ? pickAmong(probabilities, candidateIds(probabilities, total, rule), uniform)
        : pickFromAll(probabilities, blockSums, total, uniform);
  return { id, logprob: Math.log(probabilities[id]!) - Math.log(total) };
}

function isRestricted(rule: SamplingRule, vocabSize: number): boolean {
  return (rule.topK > 0 && rule.topK < vocabSize) || rule.topP < 1;
}

function sum(values: Float32Array): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i]!;
  return total;
}

function argmax(values: Float32Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i;
  return best;
}

/** Walks the blocks, then the tokens of one block. */
function pickFromAll(
  probabilities: Float32Array,
  blockSums: Float32Array,
  total: number,
  uniform: number,
): number {
  let rest = uniform * total;
  let block = 0;
  for (let i = 0; i < blockSums.length; i++) {
    if (blockSums[i]! === 0) continue;
    block = i;
    if (rest < blockSums[i]!) break;
    rest -= blockSums[i]!;
  }
  const end = Math.min((block + 1) * SAMPLING_BLOCK, probabilities.length);
  let chosen = block * SAMPLING_BLOCK;
  for (let id = chosen; id < end; id++) {
    if (probabilities[id]! === 0) continue;
    chosen = id;
    if (rest < probabilities[id]!) break;
    rest -= probabilities[id]!;
  }
  return chosen;
}

function pickAmong(probabilities: Float32Array, ids: number[], uniform: number): number {
  let mass = 0;
  for (const id of ids) mass += probabilities[id]!;
  let rest = uniform * mass;
  let chosen = ids[0]!;
  for (const id of ids) {
    if (probabilities[id]! === 0) continue;
    chosen = id;
    if (rest < probabilities[id]!) break;
    rest -= probabilities[id]!;
  }
  return chosen;
}

/**
 * The ids that top-k and then top-p leave, ascending. Top-p keeps the smallest set of most probable tokens whose share of
 * what top-k left reaches topP (Holtzman et al., "The curious case of neural text degeneration", ICLR 2020).
 * Among equal probabilities the lower id counts as more probable.
 */
export function candidateIds(probabilities: Float32Array, total: number, rule: SamplingRule): number[] {
  const { topK, topP } = rule;
  const limited = topK > 0 && topK < probabilities.length;
  const descending = limited
    ? mostProbable(probabilities, topK)
    : atLeast(probabilities, ((1 - topP) * total) / probabilities.length);
  if (topP < 1) {
    let mass = total;
    if (limited) mass = descending.reduce((m, id) => m + probabilities[id]!, 0);
    let kept = 0;
    let count = 0;
    while (count < descending.length && kept < topP * mass) kept += probabilities[descending[count++]!]!;
    descending.length = Math.max(count, 1);
  }
  return descending.sort((a, b) => a - b);
}

/** The `count` most probable ids, most probable first. */
function mostProbable(probabilities: Float32Array, count: number): number[] {
  const ids: number[] = [];
  for (let id = 0; id < probabilities.length; id++) {
    const p = probabilities[id]!;
    if (ids.length === count && p <= probabilities[ids[count - 1]!]!) continue;
    let low = 0;
    let high = ids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (probabilities[ids[middle]!]! >= p) low = middle + 1;
      else high = middle;
    }
    ids.splice(low, 0, id);
    if (ids.length > count) ids.pop();
  }
  return ids;
}

/**
 * Ids of probability `threshold` or more, most probable first. With threshold (1 - topP) / V the ids left out hold together
 * less than 1 - topP, so the nucleus is among those kept, without sorting the whole vocabulary.
 */
function atLeast(probabilities: Float32Array, threshold: number): number[] {
  const ids: number[] = [];
  for (let id = 0; id < probabilities.length; id++) if (probabilities[id]! >= threshold) ids.push(id);
  return ids.sort((a, b) => probabilities[b]! - probabilities[a]! || a - b);
}
