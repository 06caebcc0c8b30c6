import { describe, expect, test } from 'vitest';
import { entryWith } from '../tests/fixtures/log-entry.ts';
import { iterationsDone, needsWarmStart, policyOf } from './policy.ts';
import { logEntrySchema } from './records.ts';
import type { Recipe } from './recipe.ts';
import type { Ref } from './refs.ts';
import { rollbackEntry, rollbackProblem } from './rollback.ts';

const ref = (digit: string): Ref => ({ hash: `sha256:${digit.repeat(64)}`, size: 1, mediaType: 'a/b' });
const warmStart = entryWith({
  version: 1,
  kind: 'warm-start',
  weights: ref('1'),
  optimizer: ref('a'),
  optimizerStep: 16,
});
const first = entryWith({
  version: 2,
  kind: 'reinforcement',
  iteration: 1,
  weights: ref('2'),
  optimizer: ref('b'),
  optimizerStep: 2,
});
const head = entryWith({
  version: 5,
  kind: 'reinforcement',
  iteration: 4,
  weights: ref('5'),
  optimizer: ref('c'),
  optimizerStep: 8,
});

describe('a rollback', () => {
  test('is an entry on top of the head with the policy of the version, and goes on with the next iteration', () => {
    const entry = logEntrySchema.parse(rollbackEntry(head, first, { learningRate: 1e-4 }));
    expect(entry).toMatchObject({ version: 6, parent: head.weights.hash, restores: 2, update: 'applied' });
    expect(iterationsDone(entry)).toBe(iterationsDone(head));
    expect({ ...policyOf(entry, 'reinforcement'), version: 2 }).toEqual(policyOf(first, 'reinforcement'));
    expect(entry.hyperparameters).toEqual({ learningRate: 1e-4 });
  });

  test('to the end of the warm start begins reinforcement with fresh moments, and does not warm-start again', () => {
    const entry = rollbackEntry(head, warmStart, {});
    expect(policyOf(entry, 'reinforcement')).toMatchObject({
      weights: warmStart.weights,
      optimizer: null,
      optimizerStep: 0,
    });
    expect(needsWarmStart({ warmStart: {} } as Recipe, entry)).toBe(false);
  });

  test('to a rollback restores what that one restored', () => {
    const back = rollbackEntry(head, first, {});
    const later = entryWith({ ...head, version: 7, iteration: 5 });
    expect(rollbackEntry(later, back, {})).toMatchObject({
      restores: 6,
      weights: first.weights,
      optimizer: first.optimizer,
      optimizerStep: first.optimizerStep,
    });
  });
});

describe('a version to go back to', () => {
  test.each([1, 2, 4])(
    'may be %i: from the first policy of reinforcement to the one before the head',
    (version) => {
      expect(rollbackProblem(version, head, 1)).toBeUndefined();
    },
  );

  test.each([
    [5, 'version 5 is the newest already: expected a version from 1 to 4'],
    [6, 'version 6: expected a version from 1 to 4'],
    [-1, 'version -1: expected a version from 1 to 4'],
    [1.5, 'version 1.5: expected a version from 1 to 4'],
    ['2', 'version "2": expected a version from 1 to 4'],
    [undefined, 'version undefined: expected a version from 1 to 4'],
    [0, 'version 0 lies in the warm start, which is not repeated: expected a version from 1 to 4'],
  ])('is refused when it is %s', (version, problem) => {
    expect(rollbackProblem(version, head, 1)).toBe(problem);
  });

  test('is there only after the first iteration', () => {
    expect(rollbackProblem(0, warmStart, 1)).toContain('no iteration has been committed yet');
  });
});
