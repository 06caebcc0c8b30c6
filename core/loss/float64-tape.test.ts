import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluateLoss, Float64Tape, type TapeValue } from './float64-tape.ts';
import type { TokenLossSettings } from './settings.ts';

const ppo = { name: 'ppo-clip', clipLow: 0.2, clipHigh: 0.3, kl: null } as const;

function lossOfOneToken(
  settings: TokenLossSettings,
  logprob: number,
  old: number,
  reference: number,
  advantage: number,
) {
  const { loss, gradient, metrics } = evaluateLoss(settings, {
    logprobs: [logprob],
    oldLogprobs: [old],
    referenceLogprobs: [reference],
    advantages: [advantage],
  });
  const metric = (name: string) => metrics[name]![0]!;
  return { loss: loss[0]!, gradient: gradient[0]!, metric };
}

describe('ppo-clip', () => {
  // By hand: ratio 1.5 > 1.3, so the loss is -1.3 A for A > 0 and -1.5 A for A < 0; ratio 0.5 likewise with 0.8.
  it.each([
    { ratio: 1.5, advantage: 2, loss: -2.6, gradient: 0, low: 0, high: 1 },
    { ratio: 1.5, advantage: -2, loss: 3, gradient: 3, low: 0, high: 0 },
    { ratio: 0.5, advantage: 2, loss: -1, gradient: -1, low: 0, high: 0 },
    { ratio: 0.5, advantage: -2, loss: 1.6, gradient: 0, low: 1, high: 0 },
    { ratio: 1, advantage: 2, loss: -2, gradient: -2, low: 0, high: 0 },
    { ratio: 1.5, advantage: 0, loss: 0, gradient: 0, low: 0, high: 0 },
  ])('takes the pessimistic branch at ratio $ratio and advantage $advantage', (expected) => {
    const token = lossOfOneToken(ppo, -1, -1 - Math.log(expected.ratio), 0, expected.advantage);
    expect(token.loss).toBeCloseTo(expected.loss, 12);
    expect(token.gradient).toBeCloseTo(expected.gradient, 12);
    expect(token.metric('policy/ratio')).toBeCloseTo(expected.ratio, 12);
    expect(token.metric('policy/clip_fraction_low')).toBe(expected.low);
    expect(token.metric('policy/clip_fraction_high')).toBe(expected.high);
  });

  // By hand with d = log policy - log reference = ln 2: k1 = ln 2, k2 = (ln 2)^2 / 2, k3 = 1/2 - 1 + ln 2; derivatives 1, d, 1/2.
  it.each([
    { estimator: 'k1', divergence: Math.LN2, derivative: 1 },
    { estimator: 'k2', divergence: Math.LN2 ** 2 / 2, derivative: Math.LN2 },
    { estimator: 'k3', divergence: Math.LN2 - 0.5, derivative: 0.5 },
  ] as const)(
    'adds the coefficient times $estimator to loss and gradient',
    ({ estimator, divergence, derivative }) => {
      const settings = { ...ppo, kl: { coefficient: 0.1, estimator } };
      const token = lossOfOneToken(settings, -1, -1, -1 - Math.LN2, 3);
      expect(token.loss).toBeCloseTo(-3 + 0.1 * divergence, 12);
      expect(token.gradient).toBeCloseTo(-3 + 0.1 * derivative, 12);
      expect(token.metric('policy/reference_kl')).toBeCloseTo(divergence, 12);
    },
  );

  it('measures the divergence of the policy from the one that sampled, never negative and 0 where they agree', () => {
    expect(lossOfOneToken(ppo, -1, -1, 0, 1).metric('policy/approx_kl')).toBe(0);
    expect(lossOfOneToken(ppo, -1, -1 - Math.LN2, 0, 1).metric('policy/approx_kl')).toBeCloseTo(
      1 - Math.LN2,
      12,
    );
    expect(lossOfOneToken(ppo, -1 - Math.LN2, -1, 0, 1).metric('policy/approx_kl')).toBeCloseTo(
      Math.LN2 - 0.5,
      12,
    );
  });

  it('stays finite for log-probs however far apart', () => {
    const settings = { ...ppo, kl: { coefficient: 0.1, estimator: 'k3' } } as const;
    for (const [logprob, other] of [
      [-1e4, 0],
      [0, -1e4],
    ] as const) {
      const token = lossOfOneToken(settings, logprob, other, other, -1);
      expect(Number.isFinite(token.loss)).toBe(true);
      expect(Number.isFinite(token.gradient)).toBe(true);
    }
  });
});

describe('cross-entropy', () => {
  it('is the negative log-prob with gradient -1, whatever the other inputs', () => {
    const token = lossOfOneToken({ name: 'cross-entropy' }, -2.5, 7, 7, 7);
    expect([token.loss, token.gradient]).toEqual([2.5, -1]);
  });
});

describe('the tape', () => {
  const value = fc.double({ min: 0.1, max: 3, noNaN: true });

  it('differentiates every operation as finite differences do', () => {
    const operations: Record<string, (tape: Float64Tape, x: TapeValue, y: TapeValue) => TapeValue> = {
      add: (tape, x, y) => tape.add(x, y),
      sub: (tape, x, y) => tape.sub(y, x),
      mul: (tape, x, y) => tape.mul(tape.mul(x, y), x),
      neg: (tape, x) => tape.neg(x),
      exp: (tape, x) => tape.exp(x),
      log: (tape, x) => tape.log(x),
      minimum: (tape, x, y) => tape.minimum(x, tape.mul(y, x)),
      maximum: (tape, x, y) => tape.maximum(x, tape.mul(y, x)),
      clamp: (tape, x) => tape.clamp(x, 1, 2),
      stopGradient: (tape, x, y) => tape.mul(tape.sub(tape.stopGradient(y), tape.constant(2)), x),
      greaterThan: (tape, x, y) => tape.greaterThan(x, y),
      rowMean: (tape, x, y) => tape.mul(tape.rowMean(tape.mul(x, y)), x),
    };
    for (const [name, operation] of Object.entries(operations)) {
      const at = (x: number, y: number) => {
        const tape = new Float64Tape([1]);
        const input = tape.input([x]);
        const result = operation(tape, input, tape.input([y]));
        tape.backward(result);
        return { value: result.values[0]!, gradient: input.gradients[0]! };
      };
      fc.assert(
        fc.property(value, value, (x, y) => {
          const step = 1e-5;
          const kinks = [y, 1, 2, ...(name === 'minimum' || name === 'maximum' ? [x / y] : [])];
          fc.pre(kinks.every((kink) => Math.abs(x - kink) > 2 * step) && Math.abs(y - 1) > 2 * step);
          const difference = (at(x + step, y).value - at(x - step, y).value) / (2 * step);
          expect(at(x, y).gradient, name).toBeCloseTo(difference, 6);
        }),
      );
    }
  });

  it('lets nothing through a stopped gradient and sends a tie to the first argument', () => {
    const tape = new Float64Tape([1]);
    const x = tape.input([2]);
    const y = tape.input([2]);
    const sum = tape.add(tape.stopGradient(x), tape.add(tape.minimum(x, y), tape.maximum(x, y)));
    tape.backward(sum);
    expect([x.gradients[0], y.gradients[0]]).toEqual([2, 0]);
  });

  it('differentiates the whole loss as finite differences do', () => {
    const logprob = fc.double({ min: -4, max: -0.01, noNaN: true });
    const shift = fc.double({ min: -0.6, max: 0.6, noNaN: true });
    const advantage = fc.double({ min: -3, max: 3, noNaN: true });
    const estimator = fc.constantFrom('k1', 'k2', 'k3');
    fc.assert(
      fc.property(logprob, shift, shift, advantage, estimator, (now, oldShift, referenceShift, a, kind) => {
        const step = 1e-6;
        const bounds = [Math.log(1 - ppo.clipLow), Math.log(1 + ppo.clipHigh)];
        fc.pre(bounds.every((bound) => Math.abs(oldShift - bound) > 2 * step));
        const settings = { ...ppo, kl: { coefficient: 0.5, estimator: kind } } as const;
        const at = (x: number) => lossOfOneToken(settings, x, now - oldShift, now - referenceShift, a);
        const difference = (at(now + step).loss - at(now - step).loss) / (2 * step);
        expect(at(now).gradient).toBeCloseTo(difference, 5);
      }),
    );
  });

  it('takes the entropy, times its coefficient, off the loss', () => {
    const inputs = {
      logprobs: [-1],
      oldLogprobs: [-1],
      referenceLogprobs: [0],
      advantages: [3],
      entropies: [2],
    };
    const { loss, gradient, entropyGradient } = evaluateLoss({ ...ppo, entropyCoefficient: 0.1 }, inputs);
    expect(loss[0]).toBeCloseTo(-3 - 0.2, 12);
    expect(gradient[0]).toBeCloseTo(-3, 12);
    expect(entropyGradient[0]).toBeCloseTo(-0.1, 12);
    expect(evaluateLoss(ppo, inputs).entropyGradient[0]).toBe(0);
  });

  it('takes no tokens', () => {
    const empty = { logprobs: [], oldLogprobs: [], referenceLogprobs: [], advantages: [] };
    expect(evaluateLoss(ppo, empty).gradient).toHaveLength(0);
  });
});
