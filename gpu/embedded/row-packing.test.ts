import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ScoredRows } from '../engine-port.ts';
import { packRows } from './row-packing.ts';

const limit = 24;
const limits = { limitOf: () => limit, maxPositions: 16, vocabSize: 50 };

function batchOf(rows: { id: number; trained: boolean }[][]): ScoredRows {
  const tokens = rows.flat();
  return {
    ids: Int32Array.from(tokens, ({ id }) => id),
    rowLengths: Int32Array.from(rows, (row) => row.length),
    trained: Uint8Array.from(rows.flatMap((row) => row.map(({ trained }, t) => Number(trained && t > 0)))),
  };
}

const rows = fc.array(
  fc.array(fc.record({ id: fc.nat({ max: 49 }), trained: fc.boolean() }), { maxLength: 16 }),
  { maxLength: 12 },
);

describe('packRows', () => {
  it('packs every trained token exactly once, after the tokens that precede it in its row', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const batch = batchOf(given);
        const starts = given.map((_, row) => given.slice(0, row).flat().length);
        const seen: number[] = [];
        for (const packed of packRows(batch, limits)) {
          packed.sources.forEach((source, i) => {
            seen.push(source);
            const start = starts.findLast((first, row) => first <= source && given[row]!.length > 0)!;
            const position = packed.selected[i]!;
            const rowStart = position - (position % packed.positions);
            expect(packed.targets[i]).toBe(batch.ids[source]);
            expect([...packed.ids.subarray(rowStart, position + 1)]).toEqual([
              ...batch.ids.subarray(start, source),
            ]);
          });
        }
        expect(seen.sort((a, b) => a - b)).toEqual(
          [...batch.trained.keys()].filter((t) => batch.trained[t] === 1),
        );
      }),
    );
  });

  it('keeps rectangles within the token limit unless a single row exceeds it', () => {
    fc.assert(
      fc.property(rows, (given) => {
        for (const { rows: count, positions } of packRows(batchOf(given), limits)) {
          expect(count === 1 || count * positions <= limit).toBe(true);
        }
      }),
    );
  });

  it('makes the widest rectangles first', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const packed = packRows(batchOf(given), limits);
        const widths = packed.map(({ positions }) => positions);
        expect(widths).toEqual(widths.toSorted((a, b) => b - a));
      }),
    );
  });

  it('pads rows of mixed lengths little: short ones share rectangles with each other', () => {
    const lengths = Array.from({ length: 12 }, (_, row) => (row % 2 === 0 ? 13 : 3));
    const batch: ScoredRows = {
      ids: new Int32Array(96),
      rowLengths: Int32Array.from(lengths),
      trained: Uint8Array.from(lengths.flatMap((length) => Array.from({ length }, (_, t) => Number(t > 0)))),
    };
    const shapes = packRows(batch, limits).map(({ rows, positions }) => [rows, positions]);
    expect(shapes).toEqual([
      [2, 12],
      [2, 12],
      [2, 12],
      [6, 2],
    ]);
  });

  const good = (): ScoredRows => ({
    ids: Int32Array.of(1, 2, 3, 4),
    rowLengths: Int32Array.of(2, 2),
    trained: Uint8Array.of(0, 1, 0, 1),
  });
  it.each<[string, Partial<ScoredRows>, RegExp]>([
    ['lengths that do not add up', { rowLengths: Int32Array.of(2, 1) }, /add up to 3, but ids holds 4/],
    ['a mask of another length', { trained: new Uint8Array(3) }, /trained has 3 entries for 4 tokens/],
    ['an id outside the vocabulary', { ids: Int32Array.of(1, 2, 50, 4) }, /ids\[2\] is 50, expected 0 to 49/],
    ['a trained first token', { trained: Uint8Array.of(0, 1, 1, 1) }, /row 1: its first token/],
    [
      'a row that is too long',
      { ids: new Int32Array(17), rowLengths: Int32Array.of(17), trained: new Uint8Array(17) },
      /row 0 has 17 tokens, expected at most 16/,
    ],
  ])('refuses %s', (_, change, message) => {
    expect(() => packRows({ ...good(), ...change }, limits)).toThrow(message);
  });
});
