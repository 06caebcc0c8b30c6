import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inWindow } from './in-window.ts';

it('every job runs once, never more than the window at a time, and gives its result in its place', async () => {
  const size = fc.integer({ min: 0, max: 40 });
  await fc.assert(
    fc.asyncProperty(size, fc.integer({ min: 1, max: 10 }), async (count, window) => {
      let running = 0;
      let most = 0;
      const results = await inWindow(count, window, async (i) => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, (i * 7) % 3));
        running -= 1;
        return i;
      });
      expect(results).toEqual(Array.from({ length: count }, (_, i) => i));
      expect(most).toBe(Math.min(count, window));
    }),
    { numRuns: 30 },
  );
});

it('the first failure is the failure of all', async () => {
  const failing = inWindow(3, 2, (i) => (i === 1 ? Promise.reject(new Error('one')) : Promise.resolve(i)));
  await expect(failing).rejects.toThrow('one');
});
