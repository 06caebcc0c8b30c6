/**
 * The tokens that Clip-Cov and KL-Cov choose (arXiv 2505.22617, section 4): those where log-prob and advantage vary together
 * most, cov = (A - mean A) * (log policy - mean log policy), means over all trained tokens of a minibatch. Choices depend on the
 * values and the seed alone; of equal values, the earlier tokens come first.
 */
import { permutation, type Seed } from './seeds.ts';

interface TokenNumbers {
  /** Of T trained tokens. */
  logprobsT: ArrayLike<number>;
  advantagesT: ArrayLike<number>;
}

function covariances({ logprobsT, advantagesT }: TokenNumbers): Float64Array {
  const logprob = mean(logprobsT);
  const advantage = mean(advantagesT);
  return Float64Array.from(logprobsT, (value, t) => (advantagesT[t]! - advantage) * (value - logprob));
}

function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let t = 0; t < values.length; t++) sum += values[t]!;
  return sum / values.length;
}

export interface ClipCovChoice {
  /** Share of all tokens that are chosen, at least one. */
  share: number;
  /** Only tokens whose covariance lies between are chosen. */
  lowest: number;
  highest: number;
}

/**
 * Equation 10: at random among the tokens whose covariance lies between two bounds, without those that the clip range has
 * taken out of the gradient already (`isClippedT` 1). Returns 1 for each chosen token, else 0.
 */
export function chooseForClipCov(
  tokens: TokenNumbers & { isClippedT: ArrayLike<number> },
  { share, lowest, highest }: ClipCovChoice,
  seed: Seed,
): Float32Array {
  const covarianceT = covariances(tokens);
  const candidates: number[] = [];
  covarianceT.forEach((covariance, t) => {
    if (covariance > lowest && covariance < highest && !tokens.isClippedT[t]) candidates.push(t);
  });
  const count = Math.min(candidates.length, countOf(share, covarianceT.length));
  const order = permutation(candidates.length, seed);
  return marked(
    covarianceT.length,
    Array.from(order.subarray(0, count), (i) => candidates[i]!),
  );
}

/** Equation 12: the tokens of the highest covariance. Returns 1 for each chosen token, else 0. */
export function chooseForKlCov(tokens: TokenNumbers, share: number): Float32Array {
  const covarianceT = covariances(tokens);
  const highestFirst = Array.from(covarianceT.keys()).sort(
    (a, b) => covarianceT[b]! - covarianceT[a]! || a - b,
  );
  return marked(covarianceT.length, highestFirst.slice(0, countOf(share, covarianceT.length)));
}

function countOf(share: number, tokens: number): number {
  return Math.min(tokens, Math.max(1, Math.floor(share * tokens)));
}

function marked(tokens: number, chosen: readonly number[]): Float32Array {
  const marksT = new Float32Array(tokens);
  for (const t of chosen) marksT[t] = 1;
  return marksT;
}
