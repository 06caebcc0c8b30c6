import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MergeQueue } from './merge-queue.ts';

type Rules = ReadonlyMap<string, { rank: number; id: number }>;

/** The definition, step by step: the earliest rank, the leftmost place. */
function mergeNaively(tokens: readonly number[], rules: Rules): number[] {
  const result = [...tokens];
  for (;;) {
    let best: { rank: number; id: number; place: number } | undefined;
    for (let place = 0; place + 1 < result.length; place++) {
      const rule = rules.get(`${result[place]} ${result[place + 1]}`);
      if (rule && (best === undefined || rule.rank < best.rank)) best = { ...rule, place };
    }
    if (!best) return result;
    result.splice(best.place, 2, best.id);
  }
}

it('merges as the definition says', () => {
  const pair = fc.tuple(fc.nat(6), fc.nat(6));
  fc.assert(
    fc.property(
      fc.array(fc.nat(3), { maxLength: 30 }),
      fc.array(pair, { maxLength: 12 }),
      (tokens, pairs) => {
        const rules: Rules = new Map(
          pairs.map(([a, b], rank) => [`${a} ${b}`, { rank, id: 4 + (rank % 3) }]),
        );
        const queue = new MergeQueue(tokens, (left, right) => rules.get(`${left} ${right}`));
        expect(queue.run()).toEqual(mergeNaively(tokens, rules));
      },
    ),
    { numRuns: 500 },
  );
});
