/** Where the commit log stands, and what follows from it. Pure, and free of schemas, so that workflows can use it. */
import type { Policy } from './contracts.ts';
import type { LogEntry } from './records.ts';
import type { Recipe } from './recipe.ts';
import type { Ref } from './refs.ts';

/**
 * The policy that an update after `entry` starts from. Optimizer moments belong to a phase: the first reinforcement update
 * starts with fresh ones.
 */
export function policyOf(entry: LogEntry, next: LogEntry['kind'] = entry.kind): Policy {
  const keepsMoments = entry.kind === next;
  return {
    version: entry.version,
    weights: entry.weights,
    optimizer: keepsMoments ? entry.optimizer : null,
    optimizerStep: keepsMoments ? entry.optimizerStep : 0,
  };
}

/** Iterations of reinforcement that the log already holds. */
export function iterationsDone(head: LogEntry): number {
  return head.kind === 'reinforcement' ? head.iteration : 0;
}

/** True when a warm start is asked for and the log does not yet hold its end. */
export function needsWarmStart(recipe: Recipe, head: LogEntry): boolean {
  if (recipe.warmStart === undefined || head.kind === 'reinforcement') return false;
  return !head.phaseFinished;
}

/** The first and the last policy are always evaluated, and every `every`-th iteration between. */
export function evaluationIsDue(recipe: Recipe, iteration: number, last: boolean): boolean {
  if (recipe.evaluation === undefined) return false;
  return iteration === 0 || last || iteration % recipe.evaluation.every === 0;
}

/** Entry 0 of a run's commit log: the policy that it begins with. */
export function initialEntry(run: string, weights: Ref): LogEntry {
  return {
    run,
    version: 0,
    parent: null,
    kind: 'initial',
    iteration: 0,
    update: 'applied',
    weights,
    optimizer: null,
    optimizerStep: 0,
    batch: null,
    trajectories: [],
    rows: null,
    outcomes: {},
    hyperparameters: {},
    metrics: {},
    phaseFinished: false,
  };
}
