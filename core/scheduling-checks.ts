/** Which keys of a schedule go together. What depends on the clock is for `async`, which promises no equal results, only exact ones. */
import type { Recipe } from './recipe.ts';

type Report = (path: string, message: string) => void;

const asyncKeys = [
  'maxStaleness',
  'lookahead',
  'interrupt',
  'stragglerSeconds',
  'stragglers',
  'overStale',
  'importanceCap',
] as const;

export function checkScheduling({ schedule, rollout }: Recipe, report: Report): void {
  const { mode, maxStaleness, lookahead = maxStaleness, overStale, stragglers, stragglerSeconds } = schedule;
  if (mode !== 'async') {
    for (const key of asyncKeys) {
      if (schedule[key] === undefined) continue;
      report(
        `schedule.${key}`,
        `has no place in schedule.mode "${mode}"; expected mode "async", or no such key`,
      );
    }
    return;
  }
  if (maxStaleness === undefined) {
    report(
      'schedule.maxStaleness',
      'is missing, which schedule.mode "async" needs: how many updates old a token may be',
    );
  } else if (lookahead! < Math.max(1, maxStaleness)) {
    report(
      schedule.lookahead === undefined ? 'schedule.maxStaleness' : 'schedule.lookahead',
      `${lookahead} iterations are rolled out ahead; expected at least ${Math.max(1, maxStaleness)}, or mode "sync"`,
    );
  }
  if (overStale !== undefined && lookahead === maxStaleness) {
    report(
      'schedule.overStale',
      'has no effect: without a schedule.lookahead greater than schedule.maxStaleness no row is over-stale',
    );
  }
  if (schedule.importanceCap !== undefined && overStale !== 'correct') {
    report('schedule.importanceCap', 'has no effect unless schedule.overStale is "correct"');
  }
  if (stragglers !== undefined && stragglerSeconds === undefined) {
    report('schedule.stragglers', 'has no effect without schedule.stragglerSeconds');
  }
  if (rollout.durability === 'turn') {
    for (const key of ['interrupt', 'stragglerSeconds'] as const) {
      if (schedule[key] === undefined || schedule[key] === false) continue;
      report(
        `schedule.${key}`,
        'has no effect with rollout.durability "turn", where each turn is an activity of its own and takes the newest policy',
      );
    }
  }
}
