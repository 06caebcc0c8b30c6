import type { PolicyLoss } from '../ops.ts';
import type { PolicyLossOf } from '../settings.ts';
import { clipFractions, logRatioOf, ratioMetrics, sign } from './ratio.ts';

/**
 * Geometric-Mean Policy Optimization (arXiv 2507.20673, equation 4): the geometric mean of the token ratios of a response, each
 * clipped on the side that its advantage pushes to. With d = log(policy / old policy) and s the sign of A,
 *
 *   loss = -mean(A) * exp(mean over the response's tokens of s * min(s * d, s * clamp(d, -clipLow, clipHigh)))
 *
 * The bounds are those of the log-ratio (the paper uses 0.4). The number is the same at each token of a response: with
 * `sequence-mean-token-mean` it counts once for a response.
 */
export const gmpo: PolicyLoss<PolicyLossOf<'gmpo'>> = (ops, inputs, settings) => {
  const { advantages } = inputs;
  const bounds: [number, number] = [-settings.clipLow, settings.clipHigh];
  const logRatio = logRatioOf(ops, inputs);
  const side = sign(ops, advantages);
  const clipped = ops.clamp(logRatio, ...bounds);
  const lower = ops.mul(side, ops.minimum(ops.mul(side, logRatio), ops.mul(side, clipped)));
  const ratio = ops.exp(ops.rowMean(lower));
  return {
    loss: ops.neg(ops.mul(ops.rowMean(advantages), ratio)),
    metrics: {
      ...ratioMetrics(ops, logRatio, ops.exp(logRatio)),
      ...clipFractions(ops, logRatio, bounds, advantages),
    },
  };
};
