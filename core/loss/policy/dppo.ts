import type { LossInputs, LossOps, LossTerms, PolicyLoss } from '../ops.ts';
import type { PolicyLossOf } from '../settings.ts';
import { choose, logRatioOf, ratioMetrics } from './ratio.ts';

/**
 * DPPO (arXiv 2602.04879): a token gives no gradient when its policy has moved too far, as the divergence between the two
 * distributions "this token or another" measures it, in the direction that its advantage pushes to. Where it does,
 *
 *   loss = -sg[min(ratio, truncation)] * A * log policy
 *
 * `dppo-tv` measures the total variation |policy - old|.
 */
export const dppoTv: PolicyLoss<PolicyLossOf<'dppo-tv'>> = (ops, inputs, settings) => {
  const { policy, old } = probabilities(ops, inputs);
  const moved = ops.sub(policy, old);
  return masked(ops, inputs, settings, {
    tooHigh: ops.greaterThan(moved, ops.constant(settings.clipHigh)),
    tooLow: ops.greaterThan(ops.constant(-settings.clipLow), moved),
  });
};

/** Keeps the logarithm of the other tokens' probability finite. */
const tiny = 1e-8;

/** `dppo-kl` measures KL(old || policy) of the two distributions. */
export const dppoKl: PolicyLoss<PolicyLossOf<'dppo-kl'>> = (ops, inputs, settings) => {
  const { policy, old } = probabilities(ops, inputs);
  const others = (probability: typeof old) => ops.sub(ops.constant(1), probability);
  const logOthers = (probability: typeof old) => ops.log(ops.add(others(probability), ops.constant(tiny)));
  const divergence = ops.add(
    ops.mul(old, ops.sub(inputs.oldLogprobs, ops.stopGradient(inputs.logprobs))),
    ops.mul(others(old), ops.sub(logOthers(old), logOthers(policy))),
  );
  const beyond = (bound: number) => ops.greaterThan(divergence, ops.constant(bound));
  return masked(ops, inputs, settings, {
    tooHigh: ops.mul(beyond(settings.clipHigh), ops.greaterThan(policy, old)),
    tooLow: ops.mul(beyond(settings.clipLow), ops.greaterThan(old, policy)),
  });
};

function probabilities<T>(ops: LossOps<T>, { logprobs, oldLogprobs }: LossInputs<T>): { policy: T; old: T } {
  return { policy: ops.exp(ops.stopGradient(logprobs)), old: ops.exp(oldLogprobs) };
}

function masked<T>(
  ops: LossOps<T>,
  inputs: LossInputs<T>,
  { truncation }: { truncation: number },
  { tooHigh, tooLow }: { tooHigh: T; tooLow: T },
): LossTerms<T> {
  const { logprobs, advantages } = inputs;
  const logRatio = logRatioOf(ops, inputs);
  const ratio = ops.exp(logRatio);
  const weight = ops.stopGradient(ops.minimum(ratio, ops.constant(truncation)));
  const isGood = ops.greaterThan(advantages, ops.constant(0));
  const isCut = choose(ops, isGood, tooHigh, tooLow);
  const kept = ops.sub(ops.constant(1), isCut);
  return {
    loss: ops.neg(ops.mul(ops.mul(ops.mul(weight, kept), advantages), logprobs)),
    metrics: {
      ...ratioMetrics(ops, logRatio, ratio),
      'policy/clip_fraction_low': ops.mul(isCut, ops.sub(ops.constant(1), isGood)),
      'policy/clip_fraction_high': ops.mul(isCut, isGood),
    },
  };
}
