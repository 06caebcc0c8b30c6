import type { PolicyLoss } from '../ops.ts';
import type { PolicyLossOf } from '../settings.ts';
import { clipFractions, logRatioOf, ratioMetrics } from './ratio.ts';

/**
 * CISPO (MiniMax-M1, arXiv 2506.13585, equations 4 and 5): the importance weight is clipped, not the gradient, so that every token
 * keeps one:
 *
 *   loss = -sg[clamp(ratio, 1 - clipLow, 1 + clipHigh)] * A * log policy
 *
 * The clip fractions tell where the weight is clipped on the side that PPO would cut.
 */
export const cispo: PolicyLoss<PolicyLossOf<'cispo'>> = (ops, inputs, settings) => {
  const { logprobs, advantages } = inputs;
  const bounds: [number, number] = [1 - settings.clipLow, 1 + settings.clipHigh];
  const logRatio = logRatioOf(ops, inputs);
  const ratio = ops.exp(logRatio);
  const weight = ops.stopGradient(ops.clamp(ratio, ...bounds));
  return {
    loss: ops.neg(ops.mul(ops.mul(weight, advantages), logprobs)),
    metrics: { ...ratioMetrics(ops, logRatio, ratio), ...clipFractions(ops, ratio, bounds, advantages) },
  };
};
