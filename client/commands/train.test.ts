import { expect, test } from 'vitest';
import { forkOf } from './train.ts';

test('a fork is named by run and version, with a fresh optimizer state unless it is to be kept', () => {
  expect(forkOf({ from: 'sums@3' })).toEqual({ run: 'sums', version: 3, optimizer: 'fresh' });
  expect(forkOf({ from: 'sums@0', optimizer: 'keep' })).toMatchObject({ version: 0, optimizer: 'keep' });
  expect(forkOf({})).toBeUndefined();
});

test.each([
  [{ from: 'sums' }, 'expected <run>@<version>'],
  [{ from: 'sums@-1' }, 'expected <run>@<version>'],
  [{ from: 'Sums@1' }, 'expected <run>@<version>'],
  [{ from: 'sums@1', optimizer: 'old' }, 'expected keep or fresh'],
  [{ optimizer: 'keep' }, 'has no effect without --from'],
])('%j is refused', (options, problem) => {
  expect(() => forkOf(options)).toThrow(problem);
});
