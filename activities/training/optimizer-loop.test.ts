import { expect, it } from 'vitest';
import { trainingThroughput, type StepReport } from './optimizer-loop.ts';

it('an update that takes no time that can be measured has a rate that can be recorded', () => {
  const step = { trainedTokens: 5 } as StepReport;
  const later = Date.now() + 1000;
  expect(trainingThroughput([step, step], later)).toEqual({
    'tokens/trained': 10,
    'tokens/trained_per_second': 0,
  });
  expect(trainingThroughput([step], Date.now() - 1000)['tokens/trained_per_second']).toBeGreaterThan(0);
});
