import { describe, expect, it } from 'vitest';
import { learningRateAt } from './lr-schedule.ts';

describe('learningRateAt', () => {
  it('rises linearly to the full rate at the last warm-up step, then stays', () => {
    const rates = [0, 1, 2, 3, 4, 1000].map((step) =>
      learningRateAt({ learningRate: 8, warmupSteps: 4 }, step),
    );
    expect(rates).toEqual([2, 4, 6, 8, 8, 8]);
  });

  it('is the full rate from the first step without warm-up', () => {
    expect(learningRateAt({ learningRate: 0.5, warmupSteps: 0 }, 0)).toBe(0.5);
  });
});
