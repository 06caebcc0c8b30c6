import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PrefixCache, sharedLength, type KeptPrefix } from './prefix-cache.ts';

const limits = { bytes: 100, bytesPerToken: 2, shortest: 3 };

describe('kept prefixes', () => {
  it('stay below the limit when none is pinned, release what goes, and are found by their longest common beginning', () => {
    const ids = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 20 });
    const commands = fc.array(fc.record({ ids, unpin: fc.boolean() }), { maxLength: 40 });
    fc.assert(
      fc.property(commands, ids, (all, wanted) => {
        const cache = new PrefixCache(limits);
        const live = new Set<readonly number[]>();
        const pinned: KeptPrefix[] = [];
        for (const { ids, unpin } of all) {
          live.add(ids);
          const prefix = cache.add(ids, { release: () => expect(live.delete(ids)).toBe(true) });
          if (unpin) cache.unpin(prefix);
          else pinned.push(prefix);
        }
        const bytesOf = (prefixes: Iterable<readonly number[]>) =>
          [...prefixes].reduce((sum, one) => sum + limits.bytesPerToken * one.length, 0);
        expect(cache.bytes).toBe(bytesOf(live));
        expect(cache.bytes - bytesOf(pinned.map((one) => one.ids))).toBeLessThanOrEqual(limits.bytes);
        const longest = Math.max(0, ...[...live].map((one) => sharedLength(one, wanted)));
        expect(cache.longest(wanted)?.shared ?? 0).toBe(longest);
        for (const prefix of pinned) cache.unpin(prefix);
        expect(cache.bytes).toBeLessThanOrEqual(limits.bytes);
        cache.clear();
        expect([cache.bytes, live.size]).toEqual([0, 0]);
      }),
    );
  });

  it('go in the order in which they were last used, short ones at once', () => {
    const cache = new PrefixCache({ ...limits, bytes: 16 });
    const released: number[] = [];
    const keep = (ids: number[]) => cache.unpin(cache.add(ids, { release: () => released.push(ids[0]!) }));
    keep([1, 1, 1, 1]);
    keep([2, 2, 2, 2]);
    cache.longest([1, 1]);
    keep([3, 3, 3, 3]);
    keep([4, 4]);
    expect(released).toEqual([2, 4]);
  });
});
