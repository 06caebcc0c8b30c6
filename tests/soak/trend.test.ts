import { expect, it } from 'vitest';
import { trend, type Sample } from './trend.ts';

const samples = (megabytes: (seconds: number) => number, threads: (seconds: number) => number): Sample[] =>
  Array.from({ length: 100 }, (_, seconds) => ({
    seconds,
    residentMegabytes: megabytes(seconds),
    threads: threads(seconds),
  }));

it('tells a steady growth by its slope and by the medians of the first and last quarter', () => {
  const { firstMegabytes, lastMegabytes, megabytesPerHour } = trend(
    samples(
      (seconds) => 100 + seconds,
      () => 9,
    ),
  );
  expect(firstMegabytes).toBe(112);
  expect(lastMegabytes).toBe(187);
  expect(megabytesPerHour).toBeCloseTo(3600);
});

it('takes a short peak for no growth', () => {
  const { firstMegabytes, lastMegabytes } = trend(
    samples(
      (seconds) => (seconds % 10 === 3 ? 300 : 100),
      () => 9,
    ),
  );
  expect(lastMegabytes).toBe(firstMegabytes);
});

it('tells one thread more in the last quarter', () => {
  const grown = samples(
    () => 100,
    (seconds) => (seconds === 99 ? 10 : 9),
  );
  expect(trend(grown).threadGrowth).toBe(1);
});
