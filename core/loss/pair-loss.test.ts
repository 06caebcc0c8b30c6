import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluatePairs } from './pair-loss.ts';

describe('evaluatePairs', () => {
  it('is ln 2 with gradients of one half where two rewards are equal', () => {
    const { loss, gradientR, metrics } = evaluatePairs([1, 1], [1, 0], [0, 0]);
    expect(loss).toBeCloseTo(Math.LN2, 12);
    expect([...gradientR]).toEqual([-0.5, 0.5]);
    expect(metrics).toEqual({ 'reward/accuracy': 0, 'reward/difference': 0 });
  });

  it('weighs each pair, and asks for the margin of its chosen row', () => {
    const rewards = [2, 1, 0, 3];
    const { loss, metrics } = evaluatePairs(rewards, [0.5, 9, 2, 9], [1, 9, 0, 9]);
    expect(loss).toBeCloseTo(0.5 * Math.LN2 + 2 * Math.log1p(Math.exp(3)), 12);
    expect(metrics).toEqual({ 'reward/accuracy': 0.5, 'reward/difference': 0.5 - 6 });
  });

  it('stays finite for rewards that are far apart', () => {
    const { loss, gradientR } = evaluatePairs([-1e4, 1e4, 1e4, -1e4], [1, 1, 1, 1], [0, 0, 0, 0]);
    expect(loss).toBe(2e4);
    expect([...gradientR].map(Math.abs)).toEqual([1, 1, 0, 0]);
  });

  it('has gradients that agree with differences of the loss, opposite in a pair', () => {
    const number = fc.double({ min: -3, max: 3, noNaN: true });
    fc.assert(
      fc.property(
        number,
        number,
        number,
        fc.double({ min: 0.1, max: 2, noNaN: true }),
        (a, b, margin, weight) => {
          const at = (chosen: number) => evaluatePairs([chosen, b], [weight, 0], [margin, 0]);
          const difference = (at(a + 1e-6).loss - at(a - 1e-6).loss) / 2e-6;
          const { gradientR } = at(a);
          expect(gradientR[0]).toBeCloseTo(difference, 6);
          expect(gradientR[1]).toBe(-gradientR[0]!);
        },
      ),
    );
  });
});
