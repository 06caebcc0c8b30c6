import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Float64Tape } from './float64-tape.ts';
import type { ValueLossSettings } from './settings.ts';
import { valueLoss } from './value-loss.ts';

const clip = { name: 'value-clip', clip: 0.2 } as const;

function evaluate(settings: ValueLossSettings, value: number, old: number, target: number) {
  const tape = new Float64Tape([1]);
  const values = tape.input([value]);
  const inputs = { values, oldValues: tape.input([old]), returns: tape.input([target]) };
  const { loss, metrics } = valueLoss(tape, inputs, settings);
  tape.backward(loss);
  return {
    loss: loss.values[0]!,
    gradient: values.gradients[0]!,
    clipped: metrics['value/clip_fraction']?.values[0],
  };
}

describe('value-mse', () => {
  it('is half the squared error, whose gradient is the error', () => {
    expect(evaluate({ name: 'value-mse' }, 3, 100, 1)).toEqual({ loss: 2, gradient: 2, clipped: undefined });
  });
});

describe('value-clip', () => {
  // By hand: from the old value 0 the value may move to 0.2 at most; the larger error counts.
  it.each([
    { value: 0.1, target: 1, loss: 0.405, gradient: -0.9, clipped: 0 },
    { value: 0.5, target: 1, loss: 0.32, gradient: 0, clipped: 1 },
    { value: 0.5, target: 0.1, loss: 0.08, gradient: 0.4, clipped: 0 },
    { value: -0.5, target: -1, loss: 0.32, gradient: 0, clipped: 1 },
  ])('takes the larger error at value $value and return $target', ({ value, target, ...expected }) => {
    const found = evaluate(clip, value, 0, target);
    expect(found.loss).toBeCloseTo(expected.loss, 12);
    expect(found.gradient).toBeCloseTo(expected.gradient, 12);
    expect(found.clipped).toBe(expected.clipped);
  });

  it('is never below value-mse, and equals it within the clip range', () => {
    const number = fc.double({ min: -3, max: 3, noNaN: true });
    fc.assert(
      fc.property(number, number, number, (value, old, target) => {
        const [bounded, plain] = [clip, { name: 'value-mse' } as const].map(
          (settings) => evaluate(settings, value, old, target).loss,
        );
        expect(bounded).toBeGreaterThanOrEqual(plain! - 1e-12);
        if (Math.abs(value - old) < 0.2) expect(bounded).toBeCloseTo(plain!, 12);
      }),
    );
  });
});
