/**
 * How far a run may roll out ahead of what it has learned. Pure, and free of schemas, so that workflows can use it.
 *
 * Iteration n learns from the policy that iteration n - 1 left behind. Its rollout may begin as soon as iteration
 * n - 1 - lookahead has committed, so no token is older than `lookahead` updates when it is learned from: the bound is kept by
 * admission, and nothing is thrown away to keep it.
 */
import { iterationsDone } from './policy.ts';
import type { LogEntry } from './records.ts';
import type { Recipe } from './recipe.ts';
import type { Ref } from './refs.ts';

export interface Scheduling {
  /** Iterations that are rolled out before it is their turn to learn. */
  lookahead: number;
  /**
   * Which policy rolls out: `fixed`, the one that iteration n - 1 - lookahead left, so that the result is a function of the
   * recipe alone; `newest`, the last committed one at the moment when a shard or a turn begins.
   */
  behaviour: 'fixed' | 'newest';
  /** Rows with tokens that are older than so many updates are over-stale. */
  maxStaleness: number;
  overStale: 'drop' | 'correct';
  /** Largest importance weight of a corrected token. */
  importanceCap: number;
  /** Whether a generation under way goes on with newer weights when there are any. */
  interrupt: boolean;
  /** What happens to the episodes of a shard that are not finished in time; null: they take the time that they need. */
  stragglers: { seconds: number; then: 'resume' | 'drop' } | null;
}

export const defaultImportanceCap = 2;

/** What the keys of a recipe's schedule come to, those that are left out included. */
export function schedulingOf({ schedule }: Pick<Recipe, 'schedule'>): Scheduling {
  const { mode, maxStaleness = 0, lookahead = maxStaleness } = schedule;
  const ahead = { sync: 0, 'one-step-off': 1, async: lookahead }[mode];
  return {
    lookahead: ahead,
    behaviour: mode === 'async' ? 'newest' : 'fixed',
    maxStaleness: mode === 'async' ? maxStaleness : ahead,
    overStale: schedule.overStale ?? 'drop',
    importanceCap: schedule.importanceCap ?? defaultImportanceCap,
    interrupt: schedule.interrupt ?? false,
    stragglers:
      schedule.stragglerSeconds === undefined
        ? null
        : { seconds: schedule.stragglerSeconds, then: schedule.stragglers ?? 'resume' },
  };
}

/** A policy of the commit log, as the choice of who rolls out needs it. */
export interface PastPolicy {
  /** Iterations of reinforcement that it was made by. */
  iteration: number;
  version: number;
  weights: Ref;
  /** Whether it is there by a rollback. */
  restored: boolean;
}

export function pastPolicyOf(entry: LogEntry): PastPolicy {
  const { version, weights, kind } = entry;
  return { iteration: iterationsDone(entry), version, weights, restored: kind === 'rollback' };
}

/**
 * The policy that rolls out an iteration: what iteration `iteration - 1 - lookahead` left behind, or the policy before the first.
 * After a rollback it is the restored one, for what came before that is given up. `past` holds policies of the log, oldest first.
 */
export function behaviourOf(iteration: number, past: readonly PastPolicy[], lookahead: number): PastPolicy {
  const wanted = Math.max(0, iteration - 1 - lookahead);
  const policy = past.findLast(
    (each) => each.iteration <= wanted || (each.restored && each.iteration < iteration),
  );
  return policy ?? past[0]!;
}

/** The policies that `behaviourOf` may still choose when the last of `past` is the head of the log. */
export function neededPolicies(past: readonly PastPolicy[], lookahead: number): PastPolicy[] {
  const next = past.at(-1)!.iteration + 1;
  return past.slice(past.indexOf(behaviourOf(next, past, lookahead)));
}
