import { expect, it } from 'vitest';
import { defaultRestartPolicy } from '../deploy/supervision/supervised-process.ts';
import { shutdownTimes } from './shutdown.ts';

it('a worker ends by itself before the supervisor kills it, with time to close its engines', () => {
  const { shutdownGraceTime, shutdownForceTime } = shutdownTimes;
  expect(shutdownGraceTime).toBeLessThan(shutdownForceTime);
  expect(shutdownForceTime + 2_000).toBeLessThanOrEqual(defaultRestartPolicy.grace);
});
