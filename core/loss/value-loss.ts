import type { LossOps, LossTerms } from './ops.ts';
import type { ValueLossSettings } from './settings.ts';

/** What a loss of values may read of each trained position. */
export interface ValueLossInputs<T> {
  /** Of the value head that is trained. */
  values: T;
  /** Of the value head before the update. */
  oldValues: T;
  /** What the values should be. */
  returns: T;
}

/**
 * With error = value - return, for each position:
 *
 *   value-mse    loss = error² / 2
 *   value-clip   loss = max(error², (old + clamp(value - old, -clip, clip) - return)²) / 2
 *
 * The second is that of the PPO implementation of Dhariwal et al., "OpenAI Baselines" (2017): a value that has moved further than
 * the clip range gets no gradient from the bound that it has passed. Metric: `value/clip_fraction`, 1 where the bound decides.
 */
export function valueLoss<T>(
  ops: LossOps<T>,
  { values, oldValues, returns }: ValueLossInputs<T>,
  settings: ValueLossSettings,
): LossTerms<T> {
  const half = ops.constant(0.5);
  const square = (x: T): T => ops.mul(x, x);
  const plain = square(ops.sub(values, returns));
  if (settings.name === 'value-mse') return { loss: ops.mul(half, plain), metrics: {} };

  const { clip } = settings;
  const moved = ops.clamp(ops.sub(values, oldValues), -clip, clip);
  const clipped = square(ops.sub(ops.add(oldValues, moved), returns));
  return {
    loss: ops.mul(half, ops.maximum(plain, clipped)),
    metrics: { 'value/clip_fraction': ops.greaterThan(clipped, plain) },
  };
}
