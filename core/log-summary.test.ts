import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryWith } from '../tests/fixtures/log-entry.ts';
import { stopReason } from './early-stop.ts';
import { emptySummary, withEntry, withEvaluation, type LogSummary } from './log-summary.ts';
import type { Evaluation, LogEntry } from './records.ts';

const recipe = {
  stopping: [
    { metric: 'reward/mean', above: 0.5, for: 2 },
    { plateau: { metric: 'reward/mean', iterations: 3, minDelta: 0, goal: 'higher' as const } },
    { metric: 'evaluation/accuracy', above: 0.9 },
  ],
};
const fold = (summary: LogSummary, entries: LogEntry[]) =>
  entries.reduce((folded, entry) => withEntry(folded, entry, recipe), summary);

const kinds = fc.constantFrom('warm-start', 'reinforcement', 'rollback');
const logs = fc
  .array(
    fc.record({ kind: kinds, reward: fc.double({ min: 0, max: 1, noNaN: true }), refused: fc.boolean() }),
  )
  .map((steps) =>
    steps.map(({ kind, reward, refused }, i) =>
      entryWith({
        version: i + 1,
        kind,
        update: refused ? 'refused' : 'applied',
        metrics: { 'reward/mean': reward, 'tokens/generated': 10, 'time/iteration_seconds': 2 },
      }),
    ),
  );

test('a log folded in parts gives the same as a log folded at once, with entries seen twice', () => {
  fc.assert(
    fc.property(logs, fc.nat(), (entries, cut) => {
      const at = entries.length === 0 ? 0 : cut % entries.length;
      const parts = fold(fold(emptySummary(recipe), entries.slice(0, at + 1)), entries.slice(at));
      expect(parts).toEqual(fold(emptySummary(recipe), entries));
    }),
  );
});

test('what was spent and refused is summed over the whole log, rollbacks included', () => {
  const summary = fold(emptySummary(recipe), [
    entryWith({ version: 0 }),
    entryWith({ version: 1, kind: 'warm-start', metrics: { 'time/update_seconds': 3 } }),
    entryWith({
      version: 2,
      kind: 'reinforcement',
      update: 'refused',
      metrics: { 'time/iteration_seconds': 5, 'time/update_seconds': 2, 'tokens/generated': 7 },
    }),
    entryWith({ version: 3, kind: 'rollback', restores: 1 }),
  ]);
  expect(summary).toMatchObject({
    version: 3,
    refusedUpdates: 1,
    generatedTokens: 7,
    seconds: 8,
    reference: { version: 1 },
  });
});

test('a rollback makes the rules count anew', () => {
  const good = (version: number) =>
    entryWith({ version, kind: 'reinforcement', metrics: { 'reward/mean': 0.9 } });
  const spent = { seconds: 0, generatedTokens: 0 };
  const met = (entries: LogEntry[]) =>
    stopReason(recipe.stopping, fold(emptySummary(recipe), entries).rules, spent);
  expect(met([good(1), good(2)])).toContain('reward/mean is 0.9');
  expect(met([good(1), entryWith({ version: 2, kind: 'rollback' }), good(3)])).toBeUndefined();
});

test('an evaluation counts once', () => {
  const evaluation = { version: 3, accuracy: 0.95 } as Evaluation;
  const once = withEvaluation(emptySummary(recipe), evaluation, recipe);
  expect(once.rules[2]).toMatchObject({ last: 0.95, inARow: 1 });
  expect(withEvaluation(once, evaluation, recipe)).toBe(once);
});
