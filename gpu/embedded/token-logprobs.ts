/**
 * Log-probs in double precision from a row of logits. The probability of an unlikely token is a float of an exponential of a
 * rounded difference; its logit says more. So a log-prob is always the logit minus the logarithm of the sum of all exponentials.
 */
import { mostProbable } from './candidates.ts';
import { SAMPLING_BLOCK, type NextToken } from './step-output.ts';

/**
 * log(sum(exp(logits))), read off a likely token, of which the graph's probability is as good as its logit: the likeliest of
 * the heaviest block.
 * @param total Sum of the block sums, in double: takes out the rounding of the graph's normalisation.
 */
export function logNormaliser({ logits, probabilities, blockSums }: NextToken, total: number): number {
  let heaviest = 0;
  for (let i = 1; i < blockSums.length; i++) if (blockSums[i]! > blockSums[heaviest]!) heaviest = i;
  let likely = heaviest * SAMPLING_BLOCK;
  const end = Math.min(likely + SAMPLING_BLOCK, probabilities.length);
  for (let id = likely + 1; id < end; id++) if (probabilities[id]! > probabilities[likely]!) likely = id;
  return logits[likely]! - Math.log(probabilities[likely]! / total);
}

/** Log-probs under softmax(temperature * logits), of logits that were divided by the temperature. */
export class UntemperedLogprobs {
  readonly #logits: Float32Array;
  readonly #temperature: number;
  readonly #logNormaliser: number;

  constructor({ logits }: Pick<NextToken, 'logits'>, temperature: number) {
    this.#logits = logits;
    this.#temperature = temperature;
    let largest = -Infinity;
    for (let id = 0; id < logits.length; id++) largest = Math.max(largest, logits[id]!);
    let total = 0;
    for (let id = 0; id < logits.length; id++) total += Math.exp(temperature * (logits[id]! - largest));
    this.#logNormaliser = temperature * largest + Math.log(total);
  }

  of(id: number): number {
    return this.#temperature * this.#logits[id]! - this.#logNormaliser;
  }

  /** The `count` likeliest tokens, most likely first. */
  top(count: number): { id: number; logprob: number }[] {
    return mostProbable(this.#logits, count).map((id) => ({ id, logprob: this.of(id) }));
  }
}
