import { expect, it } from 'vitest';
import { progressBar, sparkline } from './sparkline.ts';

it('draws the smallest value lowest and the largest highest', () => {
  expect(sparkline([0, 0.5, 1], 10)).toBe('▁▅█');
});

it('draws a level line when nothing changes, and only the last values when there are many', () => {
  expect(sparkline([2, 2], 10)).toBe('▄▄');
  expect(sparkline([9, 9, 0, 1], 2)).toBe('▁█');
  expect(sparkline([], 5)).toBe('');
});

it('keeps a progress bar within its width', () => {
  expect(progressBar(0, 4)).toBe('╌╌╌╌');
  expect(progressBar(0.5, 4)).toBe('━━╌╌');
  expect(progressBar(7, 4)).toBe('━━━━');
});
