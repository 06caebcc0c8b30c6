import { expect, test } from 'vitest';
import { SampledWork, sampledWork, withSampledWork } from './sampled-work.ts';

test('samples under way and those that ended are unsaved until they are reported saved, in their order', () => {
  let reports = 0;
  const work = new SampledWork(() => (reports += 1));
  work.sampled('a', 10, 1_000);
  work.sampled('b', 20, 2_000);
  work.sampled('a', 5, 3_000);
  expect(work.generated(4_000)).toEqual({
    ...{ tokens: 35, unsavedTokens: 35, unsavedTrajectorySeconds: 3 + 2, underWay: 2 },
  });
  work.ended('a', 15, 0, 4_000);
  work.ended('b', 20, 0, 4_000);
  // Half of the second sample's tokens are two turns' of an episode: half of its seconds go with them.
  work.saved(15 + 10);
  expect(work.generated(9_000)).toEqual({
    ...{ tokens: 35, unsavedTokens: 10, unsavedTrajectorySeconds: 1, underWay: 0 },
  });
  work.saved(10);
  expect(work.generated(9_000)).toMatchObject({ tokens: 35, unsavedTokens: 0, unsavedTrajectorySeconds: 0 });
  expect(reports).toBe(5);
});

test('a sample of an engine that does not stream counts from the beginning of its call', () => {
  const work = new SampledWork();
  work.ended('a', 7, 1_000, 3_000);
  expect(work.generated(8_000)).toMatchObject({ tokens: 7, unsavedTokens: 7, unsavedTrajectorySeconds: 2 });
});

test('attempts that run at the same time have each their own', async () => {
  const works = [new SampledWork(), new SampledWork()];
  await Promise.all(
    works.map((work) =>
      withSampledWork(work, async () => {
        await Promise.resolve();
        expect(sampledWork()).toBe(work);
      }),
    ),
  );
  expect(sampledWork()).toBeUndefined();
});
