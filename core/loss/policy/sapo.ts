import type { PolicyLoss } from '../ops.ts';
import type { PolicyLossOf } from '../settings.ts';
import { choose, logRatioOf, ratioMetrics } from './ratio.ts';

/**
 * Soft Adaptive Policy Optimization (arXiv 2511.20347, equations 5 and 6): a smooth gate in the place of a clip range,
 *
 *   loss = -4 / tau * sigmoid(tau * (ratio - 1)) * A
 *
 * with tau = `tauPositive` where A > 0 and `tauNegative` elsewhere. At ratio 1 the gradient is that of the plain policy gradient.
 */
export const sapo: PolicyLoss<PolicyLossOf<'sapo'>> = (ops, inputs, settings) => {
  const { advantages } = inputs;
  const one = ops.constant(1);
  const logRatio = logRatioOf(ops, inputs);
  const ratio = ops.exp(logRatio);
  /** 4 / tau * sigmoid(tau * (ratio - 1)), where sigmoid(x) = exp(-log(1 + exp(-x))). */
  const gate = (tau: number) => {
    const minusX = ops.mul(ops.constant(-tau), ops.sub(ratio, one));
    return ops.mul(ops.constant(4 / tau), ops.exp(ops.neg(ops.log(ops.add(one, ops.exp(minusX))))));
  };
  const isGood = ops.greaterThan(advantages, ops.constant(0));
  return {
    loss: ops.neg(
      ops.mul(choose(ops, isGood, gate(settings.tauPositive), gate(settings.tauNegative)), advantages),
    ),
    metrics: ratioMetrics(ops, logRatio, ratio),
  };
};
