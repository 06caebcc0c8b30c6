import { expect, it } from 'vitest';
import { tinyConfig } from '../../tests/fixtures/tiny-model.ts';
import { PackedFeeds } from './packed-feeds.ts';

const feeds = new PackedFeeds({ ...tinyConfig, heads: 4, kvHeads: 2 });

function maskOf(positions: number) {
  const none = new Int32Array(0);
  const ids = new Int32Array(positions);
  return feeds.of({ rows: 1, positions, ids, selected: none, targets: none, sources: none }, 1)['mask']!;
}

it('a mask hides from each query the keys after it, for every head that shares a key head', () => {
  const hidden = [...(maskOf(3).data as Float32Array)].map((value) => (value < 0 ? 1 : 0)).join('');
  expect(hidden).toBe('011001000'.repeat(2));
});

it('one mask is kept: rows of one width share it, rows of another width replace it', () => {
  const first = maskOf(3);
  expect(maskOf(3)).toBe(first);
  expect(maskOf(2).dims).toEqual([1, 1, 4, 2]);
  expect(maskOf(3)).not.toBe(first);
  expect(maskOf(3).data).toEqual(first.data);
});
