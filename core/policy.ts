/** Where the commit log stands, and what follows from it. Pure, and free of schemas, so that workflows can use it. */
import type { Policy } from './contracts.ts';
import type { LogEntry } from './records.ts';
import type { Recipe } from './recipe.ts';
import type { Ref } from './refs.ts';

/**
 * The policy that an update after `entry` starts from. Optimizer moments belong to a phase: the first reinforcement update
 * after a warm start begins with fresh ones. Those that a rollback restores, or that a fork begins with, are of reinforcement.
 */
export function policyOf(entry: LogEntry, next: LogEntry['kind'] = entry.kind): Policy {
  const keepsMoments = entry.kind === next || (next === 'reinforcement' && entry.kind !== 'warm-start');
  return {
    version: entry.version,
    weights: entry.weights,
    optimizer: keepsMoments ? entry.optimizer : null,
    optimizerStep: keepsMoments ? entry.optimizerStep : 0,
  };
}

/** Whether the log is past its warm start. */
export function isInReinforcement({ kind }: Pick<LogEntry, 'kind'>): boolean {
  return kind === 'reinforcement' || kind === 'rollback';
}

/** Iterations of reinforcement that the log already holds. */
export function iterationsDone(head: LogEntry): number {
  return isInReinforcement(head) ? head.iteration : 0;
}

/** True when a warm start is asked for and the log does not yet hold its end. */
export function needsWarmStart(recipe: Recipe, head: LogEntry): boolean {
  if (recipe.warmStart === undefined || isInReinforcement(head)) return false;
  return !head.phaseFinished;
}

/** The first and the last policy are always evaluated, and every `every`-th iteration between. */
export function evaluationIsDue(recipe: Recipe, iteration: number, last: boolean): boolean {
  if (recipe.evaluation === undefined) return false;
  return iteration === 0 || last || iteration % recipe.evaluation.every === 0;
}

/** What a fork takes over from the version of another run that it begins with. */
export interface Inherited {
  optimizer: Ref | null;
  optimizerStep: number;
  /** The other run's warm start lies behind it, and is not made again. */
  warmStarted: boolean;
}

/** Entry 0 of a run's commit log: the policy that it begins with. */
export function initialEntry(
  run: string,
  weights: Ref,
  { optimizer, optimizerStep, warmStarted }: Inherited = {
    optimizer: null,
    optimizerStep: 0,
    warmStarted: false,
  },
): LogEntry {
  return {
    run,
    version: 0,
    parent: null,
    kind: 'initial',
    iteration: 0,
    update: 'applied',
    weights,
    optimizer,
    optimizerStep,
    batch: null,
    trajectories: [],
    rows: null,
    outcomes: {},
    hyperparameters: {},
    metrics: {},
    phaseFinished: warmStarted,
  };
}
