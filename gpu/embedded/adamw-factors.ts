/**
 * The numbers of an AdamW step. With g the gradient before clipping,
 *   m = beta1 m + gradientToM g,  v = beta2 v + (gradientToRootV g)²,  w = keep w - rate m / (sqrt(v) + epsilon).
 */
import type { StepSettings } from '../engine-port.ts';

/** Keeps the clipping factor finite; the value that torch.nn.utils.clip_grad_norm_ uses. */
const NORM_EPSILON = 1e-6;

export const factorNames = [
  'beta1',
  'gradientToM',
  'beta2',
  'gradientToRootV',
  'rate',
  'epsilon',
  'keep',
] as const;

export type UpdateFactors = Record<(typeof factorNames)[number], number>;

/**
 * Computed in double. With c1 = 1 - beta1^t and c2 = 1 - beta2^t,
 *   w keep - lr (m / c1) / (sqrt(v / c2) + eps)  =  w keep - (lr sqrt(c2) / c1) m / (sqrt(v) + eps sqrt(c2)).
 * @param step Number of this step since the moments were zero, from 1.
 */
export function stepFactors(
  settings: StepSettings,
  step: number,
  gradientNorm: number,
): { withDecay: UpdateFactors; withoutDecay: UpdateFactors } {
  const { learningRate, weightDecay, beta1, beta2, epsilon, gradientClip } = settings;
  const clipping = Math.min(1, gradientClip / (gradientNorm + NORM_EPSILON));
  const rootCorrection2 = Math.sqrt(1 - beta2 ** step);
  const withoutDecay: UpdateFactors = {
    beta1,
    beta2,
    gradientToM: clipping * (1 - beta1),
    gradientToRootV: clipping * Math.sqrt(1 - beta2),
    rate: (learningRate * rootCorrection2) / (1 - beta1 ** step),
    epsilon: epsilon * rootCorrection2,
    keep: 1,
  };
  return { withoutDecay, withDecay: { ...withoutDecay, keep: 1 - learningRate * weightDecay } };
}
