import { klEstimators, largestLogRatio } from './kl.ts';
import type { TokenLoss } from './ops.ts';
import type { TokenLossSettings } from './settings.ts';

/**
 * The clipped surrogate of Proximal Policy Optimization (arXiv 1707.06347, equation 7), with separate bounds as in DAPO
 * (arXiv 2503.14476, equation 8), and optionally a divergence from the reference policy as in GRPO and a bonus for entropy (equation 9). For each token, with
 * ratio = policy / old policy and advantage A:
 *
 *   loss = -min(ratio * A, clamp(ratio, 1 - clipLow, 1 + clipHigh) * A) + coefficient * KL
 *          - entropyCoefficient * entropy
 *
 * Metrics: `policy/ratio`; `policy/clip_fraction_low` and `policy/clip_fraction_high`, 1 where the bound takes the token's
 * gradient away (the ratio is below the lower bound and A < 0, or above the upper one and A > 0); `policy/approx_kl`, k3 of
 * KL(old policy || policy); `policy/reference_kl`, the KL term before its coefficient. Log-ratios are cut at ±20.
 */
export const ppoClip: TokenLoss<Extract<TokenLossSettings, { name: 'ppo-clip' }>> = (
  ops,
  inputs,
  settings,
) => {
  const { logprobs, oldLogprobs, referenceLogprobs, advantages, entropies } = inputs;
  const { clipLow, clipHigh, kl, entropyCoefficient } = settings;
  const one = ops.constant(1);
  const zero = ops.constant(0);

  const logRatio = ops.clamp(ops.sub(logprobs, oldLogprobs), -largestLogRatio, largestLogRatio);
  const ratio = ops.exp(logRatio);
  const clippedRatio = ops.clamp(ratio, 1 - clipLow, 1 + clipHigh);
  const surrogate = ops.minimum(ops.mul(ratio, advantages), ops.mul(clippedRatio, advantages));
  const bonus =
    entropyCoefficient === undefined ? null : ops.mul(ops.constant(entropyCoefficient), entropies);
  const policyLoss = bonus === null ? ops.neg(surrogate) : ops.neg(ops.add(surrogate, bonus));

  const isBelow = ops.greaterThan(ops.constant(1 - clipLow), ratio);
  const isAbove = ops.greaterThan(ratio, ops.constant(1 + clipHigh));
  const metrics = {
    'policy/ratio': ratio,
    'policy/clip_fraction_low': ops.mul(isBelow, ops.greaterThan(zero, advantages)),
    'policy/clip_fraction_high': ops.mul(isAbove, ops.greaterThan(advantages, zero)),
    'policy/approx_kl': ops.sub(ops.sub(ratio, one), logRatio),
  };
  if (kl === null) return { loss: policyLoss, metrics };

  const divergence = klEstimators[kl.estimator](ops, logprobs, referenceLogprobs);
  return {
    loss: ops.add(policyLoss, ops.mul(ops.constant(kl.coefficient), divergence)),
    metrics: { ...metrics, 'policy/reference_kl': divergence },
  };
};
