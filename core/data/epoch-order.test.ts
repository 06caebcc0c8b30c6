import fc from 'fast-check';
import { expect, test } from 'vitest';
import { epochOrder } from './epoch-order.ts';

const size = fc.integer({ min: 1, max: 200 });
const seed = fc.integer({ min: 0, max: 0xffff_ffff });

test('every row comes exactly once in each epoch', () => {
  fc.assert(
    fc.property(size, seed, fc.integer({ min: 0, max: 1000 }), (rows, runSeed, epoch) => {
      const positionAt = epochOrder(rows, runSeed);
      const positions = Array.from({ length: rows }, (_, i) => positionAt(epoch * rows + i));
      expect(new Set(positions.map((position) => position.row)).size).toBe(rows);
      expect(positions.every((position) => position.epoch === epoch)).toBe(true);
    }),
  );
});

test('a cursor gives the same row in whatever order and pieces cursors are asked for', () => {
  const cursors = fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 1 });
  fc.assert(
    fc.property(size, seed, cursors, (rows, runSeed, asked) => {
      const together = epochOrder(rows, runSeed);
      const inTurn = asked.map(together);
      const apart = asked.map((cursor) => epochOrder(rows, runSeed)(cursor));
      expect(inTurn).toEqual(apart);
    }),
  );
});

test('epochs and seeds have orders of their own', () => {
  const rowsFrom = (runSeed: number, first: number) => {
    const positionAt = epochOrder(100, runSeed);
    return Array.from({ length: 100 }, (_, i) => positionAt(first + i).row);
  };
  expect(rowsFrom(1, 0)).not.toEqual(rowsFrom(1, 100));
  expect(rowsFrom(1, 0)).not.toEqual(rowsFrom(2, 0));
});
