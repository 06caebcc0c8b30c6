/**
 * Chooses the next token of one sequence from a row of what the forward graph gives.
 *
 * - The choice is a pure function of the row, the sampling rule and one uniform number: inverse transform over token ids
 *   in ascending order, so that top-k, top-p and min-p only take tokens out of the same order.
 * - A token of probability 0 is never chosen.
 */
import { RekindleError } from '../../core/errors.ts';
import { candidateIds, restricts, type SamplingRule } from './candidates.ts';
import { SAMPLING_BLOCK, type NextToken } from './step-output.ts';
import { logNormaliser } from './token-logprobs.ts';

export interface TokenChoice {
  id: number;
  /** Under the full softmax of the row's logits. */
  logprob: number;
  /** Under the distribution that was sampled from: 0 when greedy. */
  samplingLogprob: number;
}

/**
 * Chooses a token with `uniform` in [0, 1), which greedy choice ignores (ties: the lowest id).
 * Throws EngineError when the probabilities are not finite.
 */
export function chooseToken(next: NextToken, rule: SamplingRule, uniform: number): TokenChoice {
  const { logits, probabilities, blockSums } = next;
  const total = sum(blockSums);
  if (!(total > 0 && total < Infinity)) {
    throw new RekindleError('EngineError', `the next-token probabilities sum to ${total}, expected about 1`, {
      hint: 'The weights hold NaN or infinite values, or values so large that the logits overflow; look at the last update.',
      permanent: true,
    });
  }
  const logprobOf = (id: number): number => logits[id]! - logNormaliser(next, total);
  if (rule.temperature === 0) {
    const id = argmax(logits);
    return { id, logprob: logprobOf(id), samplingLogprob: 0 };
  }
  if (!restricts(rule, logits.length)) {
    const id = pickFromAll(probabilities, blockSums, uniform * total);
    const logprob = logprobOf(id);
    return { id, logprob, samplingLogprob: logprob };
  }
  const ids = candidateIds(probabilities, total, rule);
  const mass = ids.reduce((kept, id) => kept + probabilities[id]!, 0);
  const id = pickAmong(probabilities, ids, uniform * mass);
  const logprob = logprobOf(id);
  return { id, logprob, samplingLogprob: logprob - Math.log(Math.min(1, mass / total)) };
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

/** The first token at which the probabilities add up to more than `rest`: walks the blocks, then the tokens of one block. */
function pickFromAll(probabilities: Float32Array, blockSums: Float32Array, rest: number): number {
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

/** The same among some ids only. */
function pickAmong(probabilities: Float32Array, ids: readonly number[], rest: number): number {
  let chosen = ids[0]!;
  for (const id of ids) {
    if (probabilities[id]! === 0) continue;
    chosen = id;
    if (rest < probabilities[id]!) break;
    rest -= probabilities[id]!;
  }
  return chosen;
}
