import fc from 'fast-check';
import { expect, it } from 'vitest';
import { agesSeenFrom, type Ancestor } from './lineage.ts';

const reading = (log: readonly Ancestor[]) => (version: number) => Promise.resolve(log[version]!);

it('without rollbacks a version is as old as the number of versions after it', async () => {
  const log = Array.from({ length: 8 }, () => ({}));
  expect([...(await agesSeenFrom(7, 4, reading(log)))]).toEqual([
    [7, 0],
    [6, 1],
    [5, 2],
    [4, 3],
  ]);
});

it('a rollback is no update, and what it went back from has no age', async () => {
  // Versions 3 and 4 were rolled back from: version 5 restores 2, and 6 was made of it.
  const log = [{}, {}, {}, {}, {}, { restores: 2 }, {}];
  expect([...(await agesSeenFrom(6, 1, reading(log)))]).toEqual([
    [6, 0],
    [5, 1],
    [2, 1],
    [1, 2],
  ]);
});

it('ages grow by at most one from ancestor to ancestor, and no version is asked for twice', async () => {
  const logs = fc.array(fc.option(fc.nat(), { freq: 3 }), { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(logs, fc.nat(), async (choices, from) => {
      const log = choices.map((choice, version) =>
        choice === null || version === 0 ? {} : { restores: choice % version },
      );
      const oldest = from % log.length;
      const asked: number[] = [];
      const ages = await agesSeenFrom(log.length - 1, oldest, (version) => {
        asked.push(version);
        return reading(log)(version);
      });
      expect(new Set(asked).size).toBe(asked.length);
      expect(asked.every((version) => version > oldest)).toBe(true);
      const sequence = [...ages.values()];
      sequence.forEach((age, i) => expect([0, 1]).toContain(i === 0 ? age : age - sequence[i - 1]!));
    }),
  );
});
