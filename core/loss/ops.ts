/**
 * The operations a policy loss is written over. A loss is a pure function of per-token values; it is written once and
 * interpreted by whoever supplies the operations: a float64 tape, or an engine that emits them into its training graph.
 *
 * Every T stands for one number per trained token, or for a constant. Gradients are taken with respect to
 * what the trained model says: `logprobs`, `entropies`, values.
 */
export interface LossOps<T> {
  constant(value: number): T;
  add(a: T, b: T): T;
  sub(a: T, b: T): T;
  mul(a: T, b: T): T;
  neg(a: T): T;
  exp(a: T): T;
  /** Natural logarithm. */
  log(a: T): T;
  /** The smaller of two; where they are equal the gradient goes to `a`. */
  minimum(a: T, b: T): T;
  /** The larger of two; where they are equal the gradient goes to `a`. */
  maximum(a: T, b: T): T;
  /** `a` limited to [low, high]; the gradient passes inside, bounds included, and is 0 outside. */
  clamp(a: T, low: number, high: number): T;
  /** The same value, a constant for the gradient. */
  stopGradient(a: T): T;
  /** 1 where a > b, else 0; no gradient. */
  greaterThan(a: T, b: T): T;
  /** At each trained token the mean of `a` over the trained tokens of its row. */
  rowMean(a: T): T;
}

/** What a loss may read of each trained token. */
export interface LossInputs<T> {
  /** Log-prob of the token under the policy that is trained. */
  logprobs: T;
  /** Log-prob under the policy that the ratio is taken to: the one that sampled it, or a proximal one. */
  oldLogprobs: T;
  /** Log-prob under the reference policy; 0 when the loss has no KL term. */
  referenceLogprobs: T;
  advantages: T;
  /** Entropy of the distribution that the token was predicted by; read only by a loss with an entropy term. */
  entropies: T;
  /** Weight of the policy term, for tokens that another policy sampled; read only by a loss that is corrected. */
  importance: T;
  /** 1 for the tokens that `clip-cov` and `kl-cov` have chosen, else 0; read only by these. */
  chosen: T;
}

export interface LossTerms<T> {
  /** Loss of each token, before the token's weight. */
  loss: T;
  /** Named numbers of each token, summed with the same weights; no gradient. */
  metrics: Record<string, T>;
}

/**
 * The term of a loss that makes the policy better. Which operations it makes, and their order, may depend on the settings' choices (names, a term that is
 * there or not) but never on their numbers: an engine keeps one compiled graph and feeds it the numbers.
 */
export type PolicyLoss<Settings> = <T>(
  ops: LossOps<T>,
  inputs: LossInputs<T>,
  settings: Settings,
) => LossTerms<T>;
