import { expect, it } from 'vitest';
import { formatAccuracy, formatCount, formatNumber, formatSeconds } from './format.ts';

it('writes durations with the unit that fits', () => {
  expect([0.0004, 0.85, 4.24, 65, 7800].map(formatSeconds)).toEqual([
    '0 ms',
    '850 ms',
    '4.2 s',
    '1 min 05 s',
    '2 h 10 min',
  ]);
});

it('never rolls seconds or minutes over their sixty', () => {
  expect(formatSeconds(119.7)).toBe('2 min 00 s');
  expect(formatSeconds(59.97)).toBe('1 min 00 s');
  expect(formatSeconds(3599.8)).toBe('1 h 00 min');
});

it('writes numbers with few digits', () => {
  expect([0, 0.123456, -1234.5, 1.7e-9].map(formatNumber)).toEqual(['0', '0.1235', '−1,235', '1.7e−9']);
  expect(formatCount(22_688)).toBe('22,688');
  expect(formatAccuracy(0.9473)).toBe('94.7 %');
  expect(formatAccuracy(null)).toBe('–');
});
