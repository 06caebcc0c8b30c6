import { klEstimators } from './kl.ts';
import type { LossInputs, LossOps, LossTerms } from './ops.ts';
import { policyTerm } from './policy/index.ts';
import type { PolicyLossSettings } from './settings.ts';

/**
 * What a policy minimizes at each token:
 *
 *   importance * policy term + coefficient * KL(policy || reference) - entropyCoefficient * entropy
 *
 * where `importance` is there for a corrected loss only, and the other terms if their settings are (GRPO, arXiv 2402.03300,
 * equation 3; PPO, arXiv 1707.06347, equation 9). Metric `policy/reference_kl`: the divergence before its coefficient.
 */
export function policyObjective<T>(
  ops: LossOps<T>,
  inputs: LossInputs<T>,
  settings: PolicyLossSettings,
): LossTerms<T> {
  const { kl, entropyCoefficient, corrected = false } = settings;
  const policy = policyTerm(ops, inputs, settings);
  let loss = corrected ? ops.mul(inputs.importance, policy.loss) : policy.loss;
  let metrics = policy.metrics;
  if (entropyCoefficient !== undefined) {
    loss = ops.sub(loss, ops.mul(ops.constant(entropyCoefficient), inputs.entropies));
  }
  if (kl !== null) {
    const divergence = klEstimators[kl.estimator](ops, inputs);
    loss = ops.add(loss, ops.mul(ops.constant(kl.coefficient), divergence));
    metrics = { ...metrics, 'policy/reference_kl': divergence };
  }
  return { loss, metrics };
}
