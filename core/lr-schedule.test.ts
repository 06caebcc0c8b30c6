import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { learningRateAt, mostTrainingSteps } from './lr-schedule.ts';

const rates = (
  settings: Omit<Parameters<typeof learningRateAt>[0], 'learningRate'>,
  steps: number[],
  mostSteps = 100,
): number[] => steps.map((step) => learningRateAt({ learningRate: 8, ...settings }, step, mostSteps));

describe('learningRateAt', () => {
  it('rises linearly to the full rate at the last warm-up step, then stays', () => {
    expect(rates({ warmupSteps: 4 }, [0, 1, 2, 3, 4, 1000])).toEqual([2, 4, 6, 8, 8, 8]);
  });

  it('is the full rate from the first step without warm-up', () => {
    expect(rates({ warmupSteps: 0 }, [0])).toEqual([8]);
  });

  it('falls linearly from the end of the warm-up to the final share at decaySteps, then stays', () => {
    const schedule = { decay: 'linear', decaySteps: 6, finalShare: 0.25 } as const;
    expect(rates({ warmupSteps: 2, schedule }, [0, 1, 2, 3, 4, 5, 6, 99])).toEqual([
      4, 8, 8, 6.5, 5, 3.5, 2, 2,
    ]);
  });

  it('falls along half a cosine', () => {
    const schedule = { decay: 'cosine', decaySteps: 6, finalShare: 0 } as const;
    const root = Math.SQRT1_2;
    const expected = [8, 4 * (1 + root), 4, 4 * (1 - root), 0];
    rates({ warmupSteps: 2, schedule }, [2, 3, 4, 5, 6]).forEach((rate, i) =>
      expect(rate).toBeCloseTo(expected[i]!, 12),
    );
  });

  it('decays over the whole phase where the schedule names no steps', () => {
    const schedule = { decay: 'linear', finalShare: 0 } as const;
    expect(rates({ warmupSteps: 0, schedule }, [0, 1, 2, 3, 4], 4)).toEqual([8, 6, 4, 2, 0]);
  });

  it('is at the final share after a warm-up that takes all the steps of the decay', () => {
    const schedule = { decay: 'cosine', decaySteps: 2, finalShare: 0.5 } as const;
    expect(rates({ warmupSteps: 2, schedule }, [0, 1, 2])).toEqual([4, 8, 4]);
  });

  it('never rises after the warm-up and stays between the final and the full rate', () => {
    fc.assert(
      fc.property(
        fc.record({
          decay: fc.constantFrom('linear' as const, 'cosine' as const),
          decaySteps: fc.integer({ min: 1, max: 50 }),
          finalShare: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        fc.nat(20),
        (schedule, warmupSteps) => {
          const all = rates({ warmupSteps, schedule }, [...Array(60).keys()]).slice(warmupSteps);
          all.forEach((rate, i) => {
            expect(rate).toBeLessThanOrEqual(all[i - 1] ?? 8);
            expect(rate).toBeGreaterThanOrEqual(8 * schedule.finalShare - 1e-12);
          });
        },
      ),
    );
  });
});

describe('mostTrainingSteps', () => {
  it('counts the minibatches of all epochs and iterations', () => {
    const rollout = { tasksPerIteration: 6, groupSize: 4 };
    const training = { iterations: 10, epochs: 2, minibatchRows: 8 };
    const recipe = { rollout, training } as Parameters<typeof mostTrainingSteps>[0];
    expect(mostTrainingSteps(recipe)).toBe(10 * 2 * 3);
  });
});
